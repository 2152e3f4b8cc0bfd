// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/report"
)

const historyMode = 0o600 // as the file of the TrainJob

// historyLine is one line of a history: an accepted report as it is stored.
type historyLine struct {
	AcceptedTime  metav1.MicroTime       `json:"acceptedTime"`
	TrainerStatus *trainer.TrainerStatus `json:"trainerStatus"`
}

// history appends accepted reports to a file, those too that a newer one
// replaced before they were written to the TrainJob. A nil history keeps
// nothing.
type history struct {
	clock clock.PassiveClock
	say   func(text string)

	mu     sync.Mutex
	file   *os.File
	failed bool
}

// openHistory opens the file, which it makes where there is none. Without a path
// there is no history.
func openHistory(path string, c clock.PassiveClock, say func(text string)) (*history, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, historyMode)
	if err != nil {
		return nil, fmt.Errorf("opening the history: %w", err)
	}
	return &history{clock: c, say: say, file: file}, nil
}

// add appends a report. A file that takes nothing is said once, and does not end
// the training.
func (h *history) add(rep report.Report) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	line, err := json.Marshal(historyLine{AcceptedTime: metav1.NewMicroTime(h.clock.Now().UTC()), TrainerStatus: toTrainerStatus(rep)})
	if err == nil {
		_, err = h.file.Write(append(line, '\n'))
	}
	if err != nil && !h.failed {
		h.failed = true
		h.say("the history is not complete: " + err.Error())
	}
}

func (h *history) close() error {
	if h == nil {
		return nil
	}
	return h.file.Close()
}
