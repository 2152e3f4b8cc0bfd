// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// MLPolicy says how many nodes train and how the framework learns of its peers.
//
// +kubebuilder:validation:XValidation:rule="[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)].filter(x, x).size() <= 1",message="Only one of the policy can be configured"
type MLPolicy struct {
	// numNodes is how many training pods run, unless the TrainJob says otherwise. Absent means 1.
	// +optional
	NumNodes *int32 `json:"numNodes,omitempty"`

	// At most one framework may be set. With none, nothing is added to the pods.
	MLPolicySource `json:",inline"`
}

// MLPolicySource is the framework of a runtime. At most one field may be set; an empty object
// counts as set.
type MLPolicySource struct {
	// torch is for PyTorch: torchrun learns its peers from PET_* environment variables.
	// +optional
	Torch *TorchMLPolicySource `json:"torch,omitempty"`

	// mpi is for programs started by mpirun over SSH.
	// +optional
	MPI *MPIMLPolicySource `json:"mpi,omitempty"`

	// flux is for programs started by the Flux scheduler.
	// +optional
	Flux *FluxMLPolicySource `json:"flux,omitempty"`

	// jax is for JAX: processes learn their peers from JAX_* environment variables.
	// +optional
	JAX *JAXMLPolicySource `json:"jax,omitempty"`

	// xgboost is for XGBoost: workers learn their tracker from DMLC_* environment variables.
	// +optional
	XGBoost *XGBoostMLPolicySource `json:"xgboost,omitempty"`
}

// TorchMLPolicySource is the policy for PyTorch.
type TorchMLPolicySource struct {
	// envInjection names further containers that get the PET_* variables. Absent means the
	// container `node` alone. Under torchtune the container `node` gets the meeting point as an
	// argument instead, the containers named here still as variables.
	// +optional
	EnvInjection *EnvInjection `json:"envInjection,omitempty"`
}

// EnvInjection names containers that get the variables of the framework.
type EnvInjection struct {
	// targets are at most 16, one for each replicated job.
	// +listType=map
	// +listMapKey=jobName
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Targets []EnvInjectionTarget `json:"targets,omitempty"`
}

// EnvInjectionTarget names containers of one replicated job.
type EnvInjectionTarget struct {
	// jobName is the name of the replicated job, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	JobName string `json:"jobName,omitempty"`

	// containerNames are 1 to 8 containers or init containers of that job, each name at most 63
	// characters. `node` is not allowed: it gets the variables in any case.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!self.exists(c, c == 'node')",message="containerNames must not include the main node container because PET_* envs are always injected into it"
	// +required
	ContainerNames []string `json:"containerNames,omitempty"`
}

// JAXMLPolicySource is the policy for JAX. It has no settings.
type JAXMLPolicySource struct{}

// XGBoostMLPolicySource is the policy for XGBoost. It has no settings: each node runs one worker
// for each of its GPUs or, without GPUs, one that uses all its CPUs.
type XGBoostMLPolicySource struct{}

// MPIMLPolicySource is the policy for MPI.
type MPIMLPolicySource struct {
	// numProcPerNode is how many processes run on each node, written as slots into the host file.
	// Defaults to 1.
	// +kubebuilder:default=1
	// +optional
	NumProcPerNode *int32 `json:"numProcPerNode,omitempty"`

	// mpiImplementation decides the form of the host file. Defaults to OpenMPI, the only one there is.
	// +kubebuilder:default=OpenMPI
	// +kubebuilder:validation:Enum=OpenMPI;""
	// +optional
	MPIImplementation *MPIImplementation `json:"mpiImplementation,omitempty"`

	// sshAuthMountPath is the folder of the SSH keys in launcher and nodes, at most 4096
	// characters. Defaults to /root/.ssh.
	// +kubebuilder:default=/root/.ssh
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SSHAuthMountPath *string `json:"sshAuthMountPath,omitempty"`

	// runLauncherAsNode lets the launcher train too, as the first of the nodes. Defaults to false.
	// +kubebuilder:default=false
	// +optional
	RunLauncherAsNode *bool `json:"runLauncherAsNode,omitempty"`
}

// FluxMLPolicySource is the policy for Flux.
type FluxMLPolicySource struct {
	// numProcPerNode is how many processes run on each node, at least 1. Defaults to 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="NumProcPerNode in fluxPolicy must be >= 1"
	// +optional
	NumProcPerNode *int32 `json:"numProcPerNode,omitempty"`
}

// MPIImplementation is a distribution of MPI.
type MPIImplementation string

// Distributions of MPI. The API accepts OpenMPI alone; the other names are kept for code that
// mentions them.
const (
	MPIImplementationOpenMPI MPIImplementation = "OpenMPI"
	MPIImplementationIntel   MPIImplementation = "Intel"
	MPIImplementationMPICH   MPIImplementation = "MPICH"
)
