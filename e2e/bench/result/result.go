// SPDX-License-Identifier: Apache-2.0

// Package result holds what a benchmark found and prints it.
//
// It owns the figures, the conditions under which they arose, and their form as a table and as JSON.
// It does not own how they are measured or judged.
package result

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/load"
	"github.com/milepost-dev/milepost/e2e/bench/staleness"
)

// Server names a server under test.
type Server string

// The servers that are compared.
const (
	Echo           Server = "echo"
	Milepost       Server = "milepost"
	Upstream       Server = "upstream"        // at its defaults
	UpstreamLifted Server = "upstream-lifted" // with the limits of its status client lifted
)

// Measure is one run of the generator against one server.
type Measure struct {
	Scenario string `json:"scenario"`
	Server   Server `json:"server"`
	Phase    string `json:"phase,omitempty"` // for scenarios that compare two runs

	Load      *load.Outcome     `json:"load"`
	Staleness *staleness.Report `json:"staleness,omitempty"`
	Cost      Cost              `json:"cost"`
	Writes    Writes            `json:"writes"`
}

// Cost is what the run cost in processor cores, averaged over it, and memory.
type Cost struct {
	Server       float64 `json:"serverCores"`
	Generator    float64 `json:"generatorCores"`
	APIServer    float64 `json:"apiServerCores"`
	Etcd         float64 `json:"etcdCores"`
	Others       float64 `json:"otherCores"`        // everything else on the machine
	Resident     int64   `json:"residentBytes"`     // of the server, at the end
	PeakResident int64   `json:"peakResidentBytes"` // of the server
}

// Writes are requests that change something, counted by the API server, from the first report until
// the last value was stored.
type Writes struct {
	Status    float64 `json:"status"`    // of trainjobs/status
	TrainJobs float64 `json:"trainJobs"` // of TrainJobs
	Others    float64 `json:"others"`    // of anything else but Leases
	Seconds   float64 `json:"seconds"`
}

// StatusRate is the changes of trainjobs/status per second.
func (w Writes) StatusRate() float64 {
	if w.Seconds == 0 {
		return 0
	}
	return w.Status / w.Seconds
}

// Verdict says whether a scenario came out as it should.
type Verdict struct {
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	Want     string `json:"want"`
	Got      string `json:"got"`
	Pass     bool   `json:"pass"`
	// Judged is false where our server was not measured, so that there is nothing to pass or miss.
	Judged bool `json:"judged"`
	// Compared lists the same figure of other servers.
	Compared map[Server]string `json:"compared,omitempty"`
}

// Conditions are what the figures depend on.
type Conditions struct {
	Date     time.Time         `json:"date"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	Memory   int64             `json:"memoryBytes"`
	Kernel   string            `json:"kernel"`
	Go       string            `json:"go"`
	Commit   string            `json:"commit"`
	Versions map[string]string `json:"versions"`
	Duration float64           `json:"secondsPerRun"`
	Quick    bool              `json:"quick"` // too small and short to compare with anything
	Load     float64           `json:"loadAverageAtStart"`
	Notes    []string          `json:"notes,omitempty"`
}

// Report is everything one invocation found.
type Report struct {
	Conditions Conditions `json:"conditions"`
	Verdicts   []Verdict  `json:"verdicts"`
	Measures   []Measure  `json:"measures"`
	// Skipped tells why something that was asked for is not here.
	Skipped []string `json:"skipped,omitempty"`
}

// Missed counts the scenarios that did not come out as they should.
func (r *Report) Missed() int {
	n := 0
	for _, v := range r.Verdicts {
		if v.Judged && !v.Pass {
			n++
		}
	}
	return n
}

// WriteJSON writes everything.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	return nil
}
