// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package kubeflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/milepost-dev/milepost/e2e/pythonenv"
)

// calls are the results of the calls that programs/client.py made, by name.
type calls map[string]json.RawMessage

// job is what client.py says of a TrainJob. Its fields are exported for JSON and the matchers.
type job struct {
	Name     string
	Status   string
	Runtime  string
	Nodes    int
	Steps    map[string]string
	Has      bool // whether there is a field trainer_status
	Progress *int
	ETA      *int
	Metrics  map[string]string
	Updated  string
}

// run runs a program of this suite as the user, outside of pods, and returns what it prints.
func run(ctx SpecContext, arguments ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, pythonenv.Interpreter(), arguments...)
	command.Dir = "programs"
	command.Env = append(os.Environ(), "KUBECONFIG="+user, "PYTHONPATH="+os.Getenv(pathVariable), "PYTHONDONTWRITEBYTECODE=1")
	var output, complaints bytes.Buffer
	command.Stdout = io.MultiWriter(&output, GinkgoWriter)
	command.Stderr = io.MultiWriter(&complaints, GinkgoWriter)
	err := command.Run()
	Expect(err).NotTo(HaveOccurred(), "%v: %s", arguments, &complaints)
	Expect(complaints.String()).To(BeEmpty(), "what the SDK warns of")
	return output.String()
}

// call runs client.py.
func call(ctx SpecContext, arguments ...string) calls {
	GinkgoHelper()
	made := calls{}
	for decoder := json.NewDecoder(bytes.NewBufferString(run(ctx, append([]string{"client.py"}, arguments...)...))); ; {
		var line struct {
			Call   string
			Result json.RawMessage
		}
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return made
		}
		Expect(err).NotTo(HaveOccurred())
		made[line.Call] = line.Result
	}
}

// result is what a call gave.
func result[T any](made calls, name string) (value T) {
	GinkgoHelper()
	Expect(made).To(HaveKey(name))
	Expect(json.Unmarshal(made[name], &value)).To(Succeed())
	return value
}

// show prints how kubectl shows the TrainJob, and returns the stored status.
func show(ctx SpecContext, name string) string {
	GinkgoHelper()
	row, err := bed.Kubectl(ctx, "get", "trainjob", name, "-n", namespace)
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry("kubectl get trainjob", row)
	status, err := bed.Kubectl(ctx, "get", "trainjob", name, "-n", namespace, "-o", "jsonpath={.status.trainerStatus}")
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry("kubectl get trainjob -o jsonpath={.status.trainerStatus}", status)
	return status
}
