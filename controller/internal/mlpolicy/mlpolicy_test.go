// SPDX-License-Identifier: Apache-2.0

package mlpolicy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/mlpolicy"
	"github.com/milepost-dev/milepost/controller/internal/testkit/builders"
	"github.com/milepost-dev/milepost/controller/internal/testkit/plans"
)

const podIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

func resources(limits bool, pairs ...string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		if limits {
			c.Resources.Limits = list
			return
		}
		c.Resources.Requests = list
	}
}

func TestApply(t *testing.T) {
	torchEnv := func(nodes, processes string) []string {
		return []string{
			"PET_NNODES=" + nodes, "PET_NPROC_PER_NODE=" + processes, "PET_NODE_RANK<-" + podIndex,
			"PET_MASTER_ADDR=job-node-0-0.job", "PET_MASTER_PORT=29500",
		}
	}
	job := func() *builders.TrainJob { return builders.MakeTrainJob("ns", "job") }
	tests := map[string]struct {
		runtime   *builders.Runtime
		job       *builders.TrainJob
		wantEnv   []string
		wantCount int32
		wantPorts int
	}{
		"plain adds nothing": {
			runtime: builders.MakeRuntime("r").NumNodes(3), job: job(), wantCount: 3,
		},
		"plain takes the nodes of the TrainJob": {
			runtime: builders.MakeRuntime("r").NumNodes(3), job: job().NumNodes(5), wantCount: 5,
		},
		"a runtime without mlPolicy is plain": {
			runtime: builders.MakeRuntime("r").NoPolicy(), job: job().NumNodes(5), wantCount: 5,
		},
		"torch works without spec.trainer": {
			runtime: builders.MakeRuntime("r").Torch().NumNodes(3), job: job(),
			wantEnv: torchEnv("3", "1"), wantCount: 3, wantPorts: 1,
		},
		"torch takes the numbers of the TrainJob": {
			runtime: builders.MakeRuntime("r").Torch().NumNodes(3), job: job().NumNodes(5).NumProcPerNode(8),
			wantEnv: torchEnv("5", "8"), wantCount: 5, wantPorts: 1,
		},
		"torch leaves GPUs to be counted by torchrun": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(true, "nvidia.com/gpu", "4", "cpu", "16")), job: job(),
			wantEnv: torchEnv("1", "auto"), wantCount: 1, wantPorts: 1,
		},
		"torch finds GPUs that the TrainJob asks for": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(true, "cpu", "16")), job: job().Limit("nvidia.com/gpu", "2"),
			wantEnv: torchEnv("1", "auto"), wantCount: 1, wantPorts: 1,
		},
		"torch still sees the GPUs of the runtime when the TrainJob sets memory alone": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(true, "nvidia.com/gpu", "4")), job: job().Limit("memory", "8Gi"),
			wantEnv: torchEnv("1", "auto"), wantCount: 1, wantPorts: 1,
		},
		"torch starts one process for each requested CPU": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(false, "cpu", "3500m")), job: job(),
			wantEnv: torchEnv("1", "4"), wantCount: 1, wantPorts: 1,
		},
		"torch starts one process for each CPU of the limit when none is requested": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(true, "cpu", "6")), job: job(),
			wantEnv: torchEnv("1", "6"), wantCount: 1, wantPorts: 1,
		},
		"torch counts the CPUs of the TrainJob, not those of the runtime": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(resources(false, "cpu", "6")), job: job().Request("cpu", "2"),
			wantEnv: torchEnv("1", "2"), wantCount: 1, wantPorts: 1,
		},
		"torch replaces a value of the runtime": {
			runtime: builders.MakeRuntime("r").Torch().EditNode(func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "PET_NNODES", Value: "77"}}
			}), job: job(),
			wantEnv: []string{
				"A=1", "PET_NNODES=1", "PET_NPROC_PER_NODE=1", "PET_NODE_RANK<-" + podIndex,
				"PET_MASTER_ADDR=job-node-0-0.job", "PET_MASTER_PORT=29500",
			},
			wantCount: 1, wantPorts: 1,
		},
		"jax works without spec.trainer": {
			runtime: builders.MakeRuntime("r").JAX().NumNodes(2), job: job(),
			wantEnv:   []string{"JAX_NUM_PROCESSES=2", "JAX_PROCESS_ID<-" + podIndex, "JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500"},
			wantCount: 2, wantPorts: 1,
		},
		"xgboost counts one worker for each node": {
			runtime: builders.MakeRuntime("r").XGBoost().NumNodes(2), job: job().NumNodes(3),
			wantEnv: []string{
				"DMLC_TRACKER_URI=job-node-0-0.job", "DMLC_TRACKER_PORT=29500", "DMLC_TASK_ID<-" + podIndex, "DMLC_NUM_WORKER=3",
			},
			wantCount: 3, wantPorts: 1,
		},
		"xgboost counts one worker for each GPU": {
			runtime: builders.MakeRuntime("r").XGBoost().NumNodes(2).EditNode(resources(true, "nvidia.com/gpu", "4")), job: job(),
			wantEnv: []string{
				"DMLC_TRACKER_URI=job-node-0-0.job", "DMLC_TRACKER_PORT=29500", "DMLC_TASK_ID<-" + podIndex, "DMLC_NUM_WORKER=8",
			},
			wantCount: 2, wantPorts: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := tc.job.Obj()
			plan := plans.Make(t, tc.runtime, object)
			spec := tc.runtime.Cluster().Spec
			if err := mlpolicy.Apply(plan, &spec, object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.wantEnv, plans.EnvOf(t, plan, "node/node")); diff != "" {
				t.Errorf("env (-want +got):\n%s", diff)
			}
			if count := plan.PodSet("node").Count; count != tc.wantCount {
				t.Errorf("count = %d, want %d", count, tc.wantCount)
			}
			if ports := len(plan.PodSet("node").Container("node").Ports); ports != tc.wantPorts {
				t.Errorf("ports = %d, want %d", ports, tc.wantPorts)
			}
		})
	}
}

func TestTorchFollowsTheNamesOfTheRuntime(t *testing.T) {
	runtime := builders.MakeEmptyRuntime("r").Torch().Job("workers", "trainer", builders.MakeContainer("node")).
		Edit(func(s *jobsetv1alpha2.JobSetSpec) { s.Network = &jobsetv1alpha2.Network{Subdomain: "net"} })
	object := builders.MakeTrainJob("ns", "job").Obj()
	plan := plans.Make(t, runtime, object)
	spec := runtime.Cluster().Spec
	if err := mlpolicy.Apply(plan, &spec, object); err != nil {
		t.Fatal(err)
	}
	if got := plans.EnvOf(t, plan, "workers/node")[3]; got != "PET_MASTER_ADDR=job-workers-0-0.net" {
		t.Errorf("%s does not name a pod that exists", got)
	}
}

func TestTorchEnvInjection(t *testing.T) {
	runtime := builders.MakeEmptyRuntime("r").
		Job("check", "", builders.MakeContainer("probe"), builders.MakeContainer("other")).
		Job("node", "trainer", builders.MakeContainer("node"), builders.MakeContainer("sidecar")).
		Edit(func(s *jobsetv1alpha2.JobSetSpec) {
			s.ReplicatedJobs[1].Template.Spec.Template.Spec.InitContainers = []corev1.Container{builders.MakeContainer("setup")}
		}).
		Torch(trainer.EnvInjectionTarget{JobName: "check", ContainerNames: []string{"probe"}},
			trainer.EnvInjectionTarget{JobName: "node", ContainerNames: []string{"setup"}})
	object := builders.MakeTrainJob("ns", "job").NumNodes(2).Obj()
	plan := plans.Make(t, runtime, object)
	spec := runtime.Cluster().Spec
	if err := mlpolicy.Apply(plan, &spec, object); err != nil {
		t.Fatal(err)
	}
	full := plans.EnvOf(t, plan, "node/node")
	for path, want := range map[string][]string{
		"check/probe": full, "node/setup": full, "check/other": nil, "node/sidecar": nil,
	} {
		if diff := cmp.Diff(want, plans.EnvOf(t, plan, path)); diff != "" {
			t.Errorf("env of %s (-want +got):\n%s", path, diff)
		}
	}
	if len(full) != 5 {
		t.Errorf("env of node/node = %v", full)
	}
}

func TestApplyErrors(t *testing.T) {
	tests := map[string]struct {
		runtime     *builders.Runtime
		job         *builders.TrainJob
		want        string
		unsupported bool
	}{
		"no nodes": {
			runtime: builders.MakeRuntime("r"), job: builders.MakeTrainJob("ns", "job").NumNodes(0),
			want: "spec.trainer.numNodes is 0, it must be at least 1",
		},
		"a target that is not there": {
			runtime: builders.MakeRuntime("r").Torch(trainer.EnvInjectionTarget{JobName: "gone", ContainerNames: []string{"x"}}),
			job:     builders.MakeTrainJob("ns", "job"),
			want:    `envInjection target podSet "gone" container "x" not found in runtime template`,
		},
		"mpi": {
			runtime: builders.MakeRuntime("r").MPI(), job: builders.MakeTrainJob("ns", "job"),
			want: "mlPolicy mpi is not supported in this version", unsupported: true,
		},
		"flux": {
			runtime: builders.MakeRuntime("r").Flux(), job: builders.MakeTrainJob("ns", "job"),
			want: "mlPolicy flux is not supported in this version", unsupported: true,
		},
		"gang scheduling": {
			runtime: builders.MakeRuntime("r").PodGroup(), job: builders.MakeTrainJob("ns", "job"),
			want: "podGroupPolicy is not supported in this version", unsupported: true,
		},
		"torchtune": {
			runtime: builders.MakeRuntime("r").Torch(), job: builders.MakeTrainJob("ns", "job").Command("tune", "run"),
			want: `torchtune (command "tune run" with mlPolicy torch) is not supported in this version`, unsupported: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := tc.job.Obj()
			spec := tc.runtime.Cluster().Spec
			err := mlpolicy.Apply(plans.Make(t, tc.runtime, object), &spec, object)
			if err == nil || err.Error() != tc.want {
				t.Errorf("Apply() error = %v, want %s", err, tc.want)
			}
			var unsupported *mlpolicy.UnsupportedError
			if errors.As(err, &unsupported) != tc.unsupported {
				t.Errorf("Apply() error is %T, want UnsupportedError: %t", err, tc.unsupported)
			}
		})
	}
}

func TestCheckTakesWhatOnlyLooksLikeTorchtune(t *testing.T) {
	tests := map[string]struct {
		runtime *builders.Runtime
		job     *builders.TrainJob
	}{
		"the command on a plain runtime": {builders.MakeRuntime("r"), builders.MakeTrainJob("ns", "job").Command("tune", "run")},
		"a longer command":               {builders.MakeRuntime("r").Torch(), builders.MakeTrainJob("ns", "job").Command("tune", "run", "x")},
		"no command":                     {builders.MakeRuntime("r").Torch(), builders.MakeTrainJob("ns", "job")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := tc.runtime.Cluster().Spec
			spec.PodGroupPolicy = &trainer.PodGroupPolicy{} // asks for nothing
			if err := mlpolicy.Check(&spec, tc.job.Obj()); err != nil {
				t.Error(err)
			}
		})
	}
}
