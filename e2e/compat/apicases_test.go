// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"
	"maps"
	"strings"
)

// apiCase is a request that both servers must answer alike: an object to create, then optional
// merge patches of its status and of the object. Without want it is accepted; otherwise the last
// step is refused with an error that contains want.
type apiCase struct {
	create string
	status string
	patch  string
	want   string
}

func apiCases() map[string]apiCase {
	cases := map[string]apiCase{}
	for _, group := range []map[string]apiCase{
		nameCases(), specCases(), trainerCases(), patchCases(), statusCases(), runtimeCases(),
	} {
		maps.Copy(cases, group)
	}
	return cases
}

// job is a TrainJob with further fields of its spec, in YAML flow style.
func job(spec string) string {
	return fmt.Sprintf("{kind: TrainJob, spec: {runtimeRef: {name: torch-distributed}, %s}}", spec)
}

// named is a TrainJob of that name.
func named(name string) string {
	return fmt.Sprintf("{kind: TrainJob, metadata: {name: %q}, spec: {runtimeRef: {name: torch-distributed}}}", name)
}

// runtimeWith is a ClusterTrainingRuntime.
func runtimeWith(spec string) string {
	return fmt.Sprintf("{kind: ClusterTrainingRuntime, spec: {%s}}", spec)
}

// list writes n items made from a format with the item's number.
func list(n int, format string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

const immutable = "field is immutable"

func nameCases() map[string]apiCase {
	const label = "metadata.name must match RFC 1035 DNS label format"
	return map[string]apiCase{
		"a name of 63 characters is accepted":       {create: named(strings.Repeat("a", 63))},
		"a name of one letter is accepted":          {create: named("a")},
		"a name of 64 characters is refused":        {create: named(strings.Repeat("a", 64)), want: "metadata.name must be no more than 63 characters"},
		"a name that starts with a digit":           {create: named("1job"), want: label},
		"a name with a dot":                         {create: named("my.job"), want: label},
		"a name of capitals is refused by the core": {create: named("Job"), want: "metadata.name: Invalid value"},
	}
}

func specCases() map[string]apiCase {
	const uri = "storageUri may be empty, or it must be a valid URI (scheme://...)"
	return map[string]apiCase{
		"a minimal job gets the defaults":               {create: job("")},
		"a job without a spec":                          {create: "{kind: TrainJob}"},
		"a job without a runtime":                       {create: "{kind: TrainJob, spec: {suspend: true}}", want: "spec.runtimeRef: Required value"},
		"a runtime without a name":                      {create: "{kind: TrainJob, spec: {runtimeRef: {kind: TrainingRuntime}}}", want: "spec.runtimeRef.name: Required value"},
		"a runtime with an empty name":                  {create: "{kind: TrainJob, spec: {runtimeRef: {name: ''}}}", want: "spec.runtimeRef.name"},
		"a runtime of another kind is left to webhooks": {create: "{kind: TrainJob, spec: {runtimeRef: {name: a, kind: Pod, apiGroup: ''}}}"},
		"an unknown field is dropped":                   {create: job("surprise: 1")},
		"the runtime cannot be changed":                 {create: job(""), patch: "spec: {runtimeRef: {name: other}}", want: immutable},
		"suspend can be changed":                        {create: job("suspend: true"), patch: "spec: {suspend: false}"},
		"suspend as text":                               {create: job("suspend: 'yes'"), want: "spec.suspend"},

		"a deadline of one second":         {create: job("activeDeadlineSeconds: 1")},
		"a deadline of zero":               {create: job("activeDeadlineSeconds: 0"), want: "spec.activeDeadlineSeconds"},
		"a negative deadline":              {create: job("activeDeadlineSeconds: -1"), want: "should be greater than or equal to 1"},
		"the deadline cannot be changed":   {create: job("activeDeadlineSeconds: 5"), patch: "spec: {activeDeadlineSeconds: 6}", want: immutable},
		"a deadline may be added later on": {create: job(""), patch: "spec: {activeDeadlineSeconds: 6}"},

		"a job managed by MultiKueue":    {create: job("managedBy: kueue.x-k8s.io/multikueue")},
		"a job managed by someone else":  {create: job("managedBy: example.com/me"), want: "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set"},
		"an empty manager":               {create: job("managedBy: ''"), want: "ManagedBy must be"},
		"the manager cannot be changed":  {create: job(""), patch: "spec: {managedBy: kueue.x-k8s.io/multikueue}", want: immutable},
		"a manager with a long name":     {create: job("managedBy: " + strings.Repeat("a", 254)), want: "spec.managedBy: Too long"},
		"the data set may have no URI":   {create: job("initializer: {dataset: {storageUri: ''}}")},
		"a data set on Hugging Face":     {create: job("initializer: {dataset: {storageUri: 'hf://a/b'}}")},
		"a data set without a scheme":    {create: job("initializer: {dataset: {storageUri: a/b}}"), want: uri},
		"a model without a path":         {create: job("initializer: {model: {storageUri: 's3://'}}"), want: uri},
		"a model URI of 2049 characters": {create: job("initializer: {model: {storageUri: 's3://" + strings.Repeat("a", 2044) + "'}}"), want: "Too long"},
		"the initializer is immutable":   {create: job("initializer: {model: {storageUri: 's3://a'}}"), patch: "spec: {initializer: {model: {storageUri: 's3://b'}}}", want: immutable},
		"a Secret for the initializer":   {create: job("initializer: {model: {secretRef: {name: token}, env: [{name: A, value: b}]}}")},
	}
}

func trainerCases() map[string]apiCase {
	megabyte := strings.Repeat("a", 1<<20)
	return map[string]apiCase{
		"the trainer cannot be changed":          {create: job("trainer: {numNodes: 1}"), patch: "spec: {trainer: {numNodes: 2}}", want: immutable},
		"a trainer may be added later on":        {create: job(""), patch: "spec: {trainer: {numNodes: 2}}"},
		"no nodes, which webhooks refuse":        {create: job("trainer: {numNodes: 0}")},
		"negative nodes, which webhooks refuse":  {create: job("trainer: {numNodes: -1}")},
		"a fraction of a node":                   {create: job("trainer: {numNodes: 1.5}"), want: "spec.trainer.numNodes"},
		"more nodes than a 32-bit number":        {create: job("trainer: {numNodes: 3000000000}"), want: "spec.trainer.numNodes"},
		"no process per node":                    {create: job("trainer: {numProcPerNode: 0}")},
		"processes per node as text":             {create: job("trainer: {numProcPerNode: auto}"), want: "spec.trainer.numProcPerNode"},
		"128 variables":                          {create: job("trainer: {env: " + list(128, "{name: V%d, value: a}") + "}")},
		"129 variables":                          {create: job("trainer: {env: " + list(129, "{name: V%d, value: a}") + "}"), want: "spec.trainer.env: Too many"},
		"the same variable twice":                {create: job("trainer: {env: [{name: A}, {name: A}]}"), want: "Duplicate value"},
		"128 words of a command":                 {create: job("trainer: {command: " + list(128, "'%d'") + "}")},
		"129 words of a command":                 {create: job("trainer: {command: " + list(129, "'%d'") + "}"), want: "spec.trainer.command: Too many"},
		"129 arguments":                          {create: job("trainer: {args: " + list(129, "'%d'") + "}"), want: "spec.trainer.args: Too many"},
		"an argument of a mebibyte":              {create: job("trainer: {args: [" + megabyte + "]}")},
		"an argument of a mebibyte and one more": {create: job("trainer: {args: [" + megabyte + "a]}"), want: "Too long: may not be more than 1048576"},
		"an image name of 501 characters":        {create: job("trainer: {image: " + strings.Repeat("a", 501) + "}"), want: "spec.trainer.image: Too long"},
		"resources as numbers and as text":       {create: job("trainer: {resourcesPerNode: {limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: '1'}}}")},
	}
}

// podPatch is a TrainJob whose runtime patch sets fields of a pod spec.
func podPatch(spec string) string {
	return job("runtimePatches: [{manager: example.com/me, " + podPatchBody(spec) + "}]")
}

func podPatchBody(spec string) string {
	return "trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {" +
		spec + "}}}}}]}}}"
}

// repatched is a merge patch that replaces the patch of podPatch.
func repatched(spec string) string {
	return "spec: {runtimePatches: [{manager: example.com/me, " + podPatchBody(spec) + "}]}"
}

func patchCases() map[string]apiCase {
	return map[string]apiCase{
		"16 patches":                     {create: job("runtimePatches: " + list(16, "{manager: example.com/%d}"))},
		"17 patches":                     {create: job("runtimePatches: " + list(17, "{manager: example.com/%d}")), want: "spec.runtimePatches: Too many"},
		"two patches of one manager":     {create: job("runtimePatches: [{manager: example.com/a}, {manager: example.com/a}]"), want: "Duplicate value"},
		"a patch without a manager":      {create: job("runtimePatches: [{time: '2026-01-02T03:04:05Z'}]"), want: "manager"},
		"a patch with labels":            {create: job("runtimePatches: [{manager: example.com/a, trainingRuntimeSpec: {template: {metadata: {labels: {a: b}, annotations: {c: d}}}}}]")},
		"a patch may be added later on":  {create: job(""), patch: repatched("nodeSelector: {a: b}")},
		"a patch may be taken away":      {create: podPatch("nodeSelector: {a: b}"), patch: "spec: {runtimePatches: []}"},
		"the node selector may change":   {create: podPatch("nodeSelector: {a: b}"), patch: repatched("nodeSelector: {a: c}")},
		"tolerations may change":         {create: podPatch("tolerations: [{key: a}]"), patch: repatched("tolerations: [{key: b}]")},
		"scheduling gates may change":    {create: podPatch("schedulingGates: [{name: a}]"), patch: repatched("schedulingGates: [{name: b}]")},
		"affinity may change":            {create: podPatch("affinity: {nodeAffinity: {}}"), patch: repatched("affinity: {podAffinity: {}}")},
		"the service account is fixed":   {create: podPatch("serviceAccountName: a"), patch: repatched("serviceAccountName: b"), want: immutable},
		"volumes are fixed":              {create: podPatch("volumes: [{name: a, emptyDir: {}}]"), patch: repatched("volumes: [{name: b, emptyDir: {}}]"), want: immutable},
		"containers are fixed":           {create: podPatch("containers: [{name: a}]"), patch: repatched("containers: [{name: b}]"), want: immutable},
		"init containers are fixed":      {create: podPatch("initContainers: [{name: a}]"), patch: repatched("initContainers: [{name: b}]"), want: immutable},
		"pull secrets are fixed":         {create: podPatch("imagePullSecrets: [{name: a}]"), patch: repatched("imagePullSecrets: [{name: b}]"), want: immutable},
		"the security context is fixed":  {create: podPatch("securityContext: {runAsUser: 1}"), patch: repatched("securityContext: {runAsUser: 2}"), want: immutable},
		"the grace period is fixed":      {create: podPatch("terminationGracePeriodSeconds: 1"), patch: repatched("terminationGracePeriodSeconds: 2"), want: immutable},
		"a grace period of no time":      {create: podPatch("terminationGracePeriodSeconds: 0")},
		"a negative grace period":        {create: podPatch("terminationGracePeriodSeconds: -1"), want: "terminationGracePeriodSeconds"},
		"17 scheduling gates":            {create: podPatch("schedulingGates: " + list(17, "{name: g%d}")), want: "Too many"},
		"65 containers":                  {create: podPatch("containers: " + list(65, "{name: c%d}")), want: "Too many"},
		"129 tolerations":                {create: podPatch("tolerations: " + list(129, "{key: k%d}")), want: "Too many"},
		"a container without a name":     {create: podPatch("containers: [{env: []}]"), want: "name"},
		"a replicated job named twice":   {create: job("runtimePatches: [{manager: a/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: a}, {name: a}]}}}}]"), want: "Duplicate value"},
		"a volume of a kind that exists": {create: podPatch("volumes: [{name: a, persistentVolumeClaim: {claimName: b}}], containers: [{name: node, volumeMounts: [{name: a, mountPath: /a}], securityContext: {privileged: false}}]")},
	}
}

func trainerStatus(fields string) string {
	return "status: {trainerStatus: {lastUpdatedTime: '2026-01-02T03:04:05Z', " + fields + "}}"
}

func statusCases() map[string]apiCase {
	const counts = "ready: 0, succeeded: 0, failed: 0, active: 0, suspended: 0"
	condition := "{type: T%d, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"
	withStatus := func(status, want string) apiCase { return apiCase{create: job(""), status: status, want: want} }
	return map[string]apiCase{
		"a whole report":               withStatus(trainerStatus("progressPercentage: 42, estimatedRemainingSeconds: 120, metrics: [{name: loss, value: '0.1'}, {name: loss, value: nan}]"), ""),
		"progress of 0 percent":        withStatus(trainerStatus("progressPercentage: 0"), ""),
		"progress of 100 percent":      withStatus(trainerStatus("progressPercentage: 100"), ""),
		"progress of 101 percent":      withStatus(trainerStatus("progressPercentage: 101"), "status.trainerStatus.progressPercentage: Invalid value: 101"),
		"negative progress":            withStatus(trainerStatus("progressPercentage: -1"), "status.trainerStatus.progressPercentage: Invalid value: -1"),
		"progress as a fraction":       withStatus(trainerStatus("progressPercentage: 1.5"), "status.trainerStatus.progressPercentage"),
		"negative remaining time":      withStatus(trainerStatus("estimatedRemainingSeconds: -1"), "status.trainerStatus.estimatedRemainingSeconds: Invalid value: -1"),
		"256 metrics":                  withStatus(trainerStatus("metrics: "+list(256, "{name: m%d, value: '1'}")), ""),
		"257 metrics":                  withStatus(trainerStatus("metrics: "+list(257, "{name: m%d, value: '1'}")), "status.trainerStatus.metrics: Too many"),
		"a metric without a value":     withStatus(trainerStatus("metrics: [{name: a}]"), "status.trainerStatus.metrics[0].value: Required value"),
		"a metric with an empty name":  withStatus(trainerStatus("metrics: [{name: '', value: a}]"), "status.trainerStatus.metrics[0].name"),
		"a metric name of 65 letters":  withStatus(trainerStatus("metrics: [{name: "+strings.Repeat("a", 65)+", value: a}]"), "Too long"),
		"a metric value of 64 letters": withStatus(trainerStatus("metrics: [{name: a, value: "+strings.Repeat("a", 64)+"}]"), ""),
		"a metric value as a number":   withStatus(trainerStatus("metrics: [{name: a, value: 1}]"), "status.trainerStatus.metrics[0].value"),
		"a report without a time":      withStatus("status: {trainerStatus: {progressPercentage: 1}}", "lastUpdatedTime is required when trainerStatus is present"),
		"a report of nothing":          withStatus("status: {trainerStatus: {}}", "lastUpdatedTime is required when trainerStatus is present"),
		"a time that is none":          withStatus("status: {trainerStatus: {lastUpdatedTime: noon}}", "status.trainerStatus.lastUpdatedTime"),
		"counts of child jobs":         withStatus("status: {jobsStatus: [{name: node, "+counts+"}]}", ""),
		"a count that is missing":      withStatus("status: {jobsStatus: [{name: node, ready: 0}]}", "Required value"),
		"a negative count":             withStatus("status: {jobsStatus: [{name: node, ready: -1, succeeded: 0, failed: 0, active: 0, suspended: 0}]}", "status.jobsStatus[0].ready"),
		"counts of one job twice":      withStatus("status: {jobsStatus: [{name: a, "+counts+"}, {name: a, "+counts+"}]}", "Duplicate value"),
		"101 counted jobs":             withStatus("status: {jobsStatus: "+list(101, "{name: j%d, "+counts+"}")+"}", "status.jobsStatus: Too many"),
		"8 conditions":                 withStatus("status: {conditions: "+list(8, condition)+"}", ""),
		"9 conditions":                 withStatus("status: {conditions: "+list(9, condition)+"}", "status.conditions: Too many"),
		"a condition without a reason": withStatus("status: {conditions: [{type: T, status: 'True', message: ''}]}", "Required value"),
	}
}

func runtimeCases() map[string]apiCase {
	policy := func(mlPolicy, want string) apiCase {
		return apiCase{create: runtimeWith("mlPolicy: {" + mlPolicy + "}"), want: want}
	}
	target := func(containers string) string {
		return "torch: {envInjection: {targets: [{jobName: node, containerNames: " + containers + "}]}}"
	}
	const onlyOne = "Only one of the policy can be configured"
	return map[string]apiCase{
		"an empty runtime":                    {create: runtimeWith(""), want: "spec in body should have at least 1 properties"},
		"a runtime without a spec":            {create: "{kind: ClusterTrainingRuntime}"},
		"a runtime with an empty template":    {create: runtimeWith("template: {}"), want: "spec.template in body should have at least 1 properties"},
		"a namespaced runtime":                {create: "{kind: TrainingRuntime, spec: {mlPolicy: {numNodes: 2, torch: {}}}}"},
		"nodes alone":                         policy("numNodes: 1", ""),
		"negative nodes of a runtime":         policy("numNodes: -1", ""),
		"torch without settings is kept":      policy("torch: {}", ""),
		"jax without settings is kept":        policy("jax: {}", ""),
		"xgboost without settings is kept":    policy("xgboost: {}", ""),
		"mpi without settings gets defaults":  policy("mpi: {}", ""),
		"flux without settings gets defaults": policy("flux: {}", ""),
		"torch and mpi":                       policy("torch: {}, mpi: {}", onlyOne),
		"jax and xgboost":                     policy("jax: {}, xgboost: {}", onlyOne),
		"flux and torch":                      policy("flux: {}, torch: {}", onlyOne),
		"MPI of Intel":                        policy("mpi: {mpiImplementation: Intel}", `Unsupported value: "Intel"`),
		"MPI of no name":                      policy("mpi: {mpiImplementation: ''}", ""),
		"no process of MPI":                   policy("mpi: {numProcPerNode: 0}", ""),
		"a long folder of SSH keys":           policy("mpi: {sshAuthMountPath: "+strings.Repeat("a", 4097)+"}", "Too long"),
		"no process of Flux":                  policy("flux: {numProcPerNode: 0}", "NumProcPerNode in fluxPolicy must be >= 1"),
		"variables for a sidecar":             policy(target("[sidecar]"), ""),
		"variables for the container node":    policy(target("[sidecar, node]"), "containerNames must not include the main node container"),
		"variables for no container":          policy(target("[]"), "containerNames"),
		"variables for 9 containers":          policy(target(list(9, "c%d")), "Too many"),
		"variables for a container twice":     policy(target("[a, a]"), "Duplicate value"),
		"variables for a job twice":           policy("torch: {envInjection: {targets: [{jobName: a, containerNames: [b]}, {jobName: a, containerNames: [c]}]}}", "Duplicate value"),
		"coscheduling gets its timeout":       {create: runtimeWith("podGroupPolicy: {coscheduling: {}}")},
		"both schedulers":                     {create: runtimeWith("podGroupPolicy: {coscheduling: {}, volcano: {}}")},
		"volcano gets its topology":           {create: runtimeWith("podGroupPolicy: {volcano: {networkTopology: {}}}")},
		"volcano with a topology":             {create: runtimeWith("podGroupPolicy: {volcano: {networkTopology: {mode: soft, highestTierAllowed: 3}}}")},
		"volcano with another mode":           {create: runtimeWith("podGroupPolicy: {volcano: {networkTopology: {mode: firm}}}"), want: `Unsupported value: "firm"`},
		"a runtime may change":                {create: runtimeWith("mlPolicy: {numNodes: 1}"), patch: "spec: {mlPolicy: {numNodes: 2, jax: {}}}"},
		"labels of a JobSet are kept": {create: runtimeWith(
			"template: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: {replicatedJobs: [{name: node, template: {metadata: " +
				"{labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: {containers: [{name: node, image: a}]}}}}}]}}")},
	}
}
