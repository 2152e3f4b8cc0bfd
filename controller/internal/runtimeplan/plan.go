// SPDX-License-Identifier: Apache-2.0

// Package runtimeplan holds the value that travels from the resolved runtime to
// the finished JobSet: Plan, with one PodSet for each replicated job.
//
// It owns how parts of a pod are found and replaced. It does not own any
// decision: what goes into the pods is said by the packages that edit a Plan.
// A Plan belongs to one goroutine and is thrown away after the build.
package runtimeplan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	jobsetv1alpha2ac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"
)

// NodeContainer is the name of the container that trains.
const NodeContainer = "node"

// Plan is the JobSet of one TrainJob in the making.
type Plan struct {
	// TrainJob is the name of the TrainJob, which is also that of the JobSet.
	TrainJob string
	// Labels and Annotations go onto the JobSet.
	Labels, Annotations map[string]string
	// Spec is the template of the runtime with every edit made so far.
	Spec *jobsetv1alpha2ac.JobSetSpecApplyConfiguration
	// PodSets are the replicated jobs of Spec, in the same order.
	PodSets []PodSet
	// ReservedEnv are names whose values the policy decides. A value given by
	// the user does not replace them.
	ReservedEnv sets.Set[string]
}

// PodSet is the set of equal pods that one replicated job leads to.
type PodSet struct {
	// Name is that of the replicated job.
	Name string
	// Ancestor is the part of the TrainJob that fills these pods in, or empty.
	Ancestor string
	// Count is the number of pods of each of its Jobs, at least 1.
	Count int32
	// Pod is the pod template. It points into Plan.Spec, so that an edit here is
	// an edit there.
	Pod *corev1ac.PodSpecApplyConfiguration
}

// FirstWithAncestor is the first pod set that the given part of the TrainJob
// fills in, or nil.
func (p *Plan) FirstWithAncestor(ancestor string) *PodSet {
	return p.find(func(ps PodSet) bool { return ps.Ancestor == ancestor })
}

// SetCount sets the number of pods wherever the given part of the TrainJob fills
// the pods in.
func (p *Plan) SetCount(ancestor string, count int32) {
	for i := range p.PodSets {
		if p.PodSets[i].Ancestor == ancestor {
			p.PodSets[i].Count = count
		}
	}
}

// PodSet is the one with the given name, or nil.
func (p *Plan) PodSet(name string) *PodSet {
	return p.find(func(ps PodSet) bool { return ps.Name == name })
}

func (p *Plan) find(match func(PodSet) bool) *PodSet {
	if i := slices.IndexFunc(p.PodSets, match); i >= 0 {
		return &p.PodSets[i]
	}
	return nil
}

// FirstPodHost is the name under which the first pod of the set is found by the
// other pods of the TrainJob.
func (p *Plan) FirstPodHost(ps *PodSet) string {
	subdomain := p.TrainJob
	if network := p.Spec.Network; network != nil && network.Subdomain != nil && *network.Subdomain != "" {
		subdomain = *network.Subdomain
	}
	return fmt.Sprintf("%s-%s-0-0.%s", p.TrainJob, ps.Name, subdomain)
}

// Container is the container with the given name, or nil. Init containers are
// not looked at.
func (ps *PodSet) Container(name string) *corev1ac.ContainerApplyConfiguration {
	return findContainer(ps.Pod.Containers, name)
}

// AnyContainer is the container, or else the init container, with the given
// name, or nil.
func (ps *PodSet) AnyContainer(name string) *corev1ac.ContainerApplyConfiguration {
	if found := findContainer(ps.Pod.Containers, name); found != nil {
		return found
	}
	return findContainer(ps.Pod.InitContainers, name)
}

func findContainer(containers []corev1ac.ContainerApplyConfiguration, name string) *corev1ac.ContainerApplyConfiguration {
	i := slices.IndexFunc(containers, func(c corev1ac.ContainerApplyConfiguration) bool {
		return c.Name != nil && *c.Name == name
	})
	if i < 0 {
		return nil
	}
	return &containers[i]
}
