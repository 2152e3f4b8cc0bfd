// SPDX-License-Identifier: Apache-2.0

package trainjob

// Events go out through the core/v1 API on purpose: the events.k8s.io API sets no
// firstTimestamp, and published clients do not show events without it.

// eventSource is the component that events name as theirs.
const eventSource = "trainer-trainjob-controller"

// maxErrorLength keeps a message below the 1024 bytes the API server allows.
const maxErrorLength = 950

const (
	reasonCreationFailed = "TrainJobResourcesCreationFailed"
	reasonNotSupported   = "TrainingRuntimeNotSupported"
	reasonDeadline       = "DeadlineExceeded"
	reasonTemplateKept   = "TrainJobTemplateKept"
)

// warning is an event of type Warning about a TrainJob.
type warning struct {
	reason, message string
}

func creationFailed(err error) warning {
	return warning{reasonCreationFailed, "TrainJob resources reconciliation failed: " + shorten(err.Error())}
}

func runtimeNotSupported(err error) warning {
	return warning{reasonNotSupported, shorten(err.Error())}
}

func deadlineExceeded() warning {
	return warning{reasonDeadline, messageDeadline}
}

func templateKept(refusal error) warning {
	return warning{reasonTemplateKept, "The JobSet keeps the pod template it was created with, since JobSet refuses the change: " +
		shorten(refusal.Error())}
}

// shorten cuts at a rune, so that what is left is valid text.
func shorten(text string) string {
	if len(text) <= maxErrorLength {
		return text
	}
	cut := 0
	for i := range text {
		if i > maxErrorLength {
			break
		}
		cut = i
	}
	return text[:cut] + " ..."
}
