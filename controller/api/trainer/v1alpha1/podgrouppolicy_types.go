// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// PodGroupPolicy makes a scheduler start all pods of a run together or none.
type PodGroupPolicy struct {
	// Which scheduler does it.
	PodGroupPolicySource `json:",inline"`
}

// PodGroupPolicySource is the scheduler that groups the pods. Set at most one field.
type PodGroupPolicySource struct {
	// coscheduling is the plugin of that name from the Kubernetes scheduler-plugins.
	// +optional
	Coscheduling *CoschedulingPodGroupPolicySource `json:"coscheduling,omitempty"`

	// volcano is the Volcano scheduler.
	// +optional
	Volcano *VolcanoPodGroupPolicySource `json:"volcano,omitempty"`
}

// CoschedulingPodGroupPolicySource sets up the coscheduling plugin. The group always counts
// every pod of the run.
type CoschedulingPodGroupPolicySource struct {
	// scheduleTimeoutSeconds is how long the plugin waits for room for the whole group, in
	// seconds. 0 means the plugin's own default. Defaults to 60.
	// +kubebuilder:default=60
	// +optional
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// VolcanoPodGroupPolicySource sets up the Volcano scheduler.
type VolcanoPodGroupPolicySource struct {
	// networkTopology keeps the pods close to each other in the network. It needs Volcano's
	// HyperNode objects.
	// +optional
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
}

// NetworkTopologyMode says how strictly a network topology is kept.
type NetworkTopologyMode string

// Modes of a network topology.
const (
	// HardNetworkTopologyMode leaves the pods waiting when the topology cannot be kept.
	HardNetworkTopologyMode NetworkTopologyMode = "hard"

	// SoftNetworkTopologyMode places them elsewhere when it cannot be kept.
	SoftNetworkTopologyMode NetworkTopologyMode = "soft"
)

// NetworkTopologySpec is Volcano's setting of the same name, in the same wire form. It is
// declared here so that importing this package does not bring Volcano's API along.
type NetworkTopologySpec struct {
	// mode is hard, the default, or soft.
	// +kubebuilder:validation:Enum=hard;soft
	// +kubebuilder:default=hard
	// +optional
	Mode NetworkTopologyMode `json:"mode,omitempty"`

	// highestTierAllowed is the highest tier of the network that the pods may span. Defaults to 1.
	// +kubebuilder:default=1
	// +optional
	HighestTierAllowed *int `json:"highestTierAllowed,omitempty"`
}
