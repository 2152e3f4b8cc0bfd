// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteMarkdown writes the conditions, the verdicts and a line for each run.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	r.conditions(&b)
	r.verdicts(&b)
	r.measures(&b)
	r.notes(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

func (r *Report) conditions(b *strings.Builder) {
	c := r.Conditions
	b.WriteString("# Status server benchmark\n\n")
	if c.Quick {
		b.WriteString("**A smoke run: too small and too short to compare with anything.**\n\n")
	}
	line := func(what, value string) { fmt.Fprintf(b, "- %s: %s\n", what, value) }
	line("Date", c.Date.UTC().Format("2006-01-02 15:04 UTC"))
	line("Machine", fmt.Sprintf("%d cores of %s, %.0f GiB memory, Linux %s, load average %.2f at the start",
		c.Cores, cmp.Or(c.CPU, "an unknown processor"), float64(c.Memory)/(1<<30), c.Kernel, c.Load))
	line("Shared by", "the server under test, the load generator, kube-apiserver, etcd and the controllers, all on loopback")
	line("Milepost", c.Commit)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(c.Versions)) {
		versions = append(versions, name+" "+c.Versions[name])
	}
	line("Versions", strings.Join(append([]string{c.Go}, versions...), ", "))
	line("Reports", "6 metrics, a token bound to its pod, TLS 1.3, ECDSA P-256 certificates, X25519, no session resumption; clients give up after 5 s")
	line("Measured", fmt.Sprintf("%.0f s for each run unless its scenario says otherwise", c.Duration))
	b.WriteByte('\n')
}

func (r *Report) verdicts(b *strings.Builder) {
	if len(r.Verdicts) == 0 {
		return
	}
	others := []Server{Echo, Upstream, UpstreamLifted}
	b.WriteString("| scenario | | wanted | measured | echo server | upstream, defaults | upstream, limits lifted |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, v := range r.Verdicts {
		cells := []string{"`" + v.Scenario + "` " + v.Title, v.word(), v.Want, cmp.Or(v.Got, "–")}
		for _, server := range others {
			cells = append(cells, cmp.Or(v.Compared[server], "–"))
		}
		row(b, cells)
	}
	b.WriteByte('\n')
}

func (v *Verdict) word() string {
	switch {
	case !v.Judged:
		return "–"
	case v.Pass:
		return "PASS"
	}
	return "MISS"
}

func (r *Report) measures(b *strings.Builder) {
	if len(r.Measures) == 0 {
		return
	}
	b.WriteString("## Every run\n\nLatency is that of accepted reports in milliseconds, from the moment a report was due. " +
		"Age is the time from an accepted report to its value, or a newer one of its job, in a watch.\n\n")
	b.WriteString("| scenario | server | clients | due | accepted | per second | p50 | p90 | p99 | p99.9 | max " +
		"| age p99 / max | final age max | status writes/s | cores: server, generator, API server, etcd, all else | resident | other answers |\n")
	b.WriteString("|" + strings.Repeat(" --- |", 17) + "\n")
	for i := range r.Measures {
		m := &r.Measures[i]
		for _, g := range m.Load.Groups {
			row(b, append([]string{m.Scenario, m.serverCell(), g.Name}, m.cells(g)...))
		}
	}
	b.WriteByte('\n')
}

func (m *Measure) serverCell() string {
	if m.Phase == "" {
		return string(m.Server)
	}
	return string(m.Server) + ", " + m.Phase
}

func (r *Report) notes(b *strings.Builder) {
	for _, note := range r.Conditions.Notes {
		fmt.Fprintf(b, "- %s\n", note)
	}
	for _, skipped := range r.Skipped {
		fmt.Fprintf(b, "- Left out: %s\n", skipped)
	}
}

func row(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
