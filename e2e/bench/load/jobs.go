// SPDX-License-Identifier: Apache-2.0

package load

import "sync/atomic"

// jobs numbers the jobs of a plan and the reports of each job. Pods of one job share its counter.
type jobs struct {
	names  []string
	index  map[string]uint32
	counts []atomic.Uint32
}

func newJobs(p *Plan) *jobs {
	j := &jobs{index: map[string]uint32{}}
	for _, group := range p.Groups {
		for _, target := range group.Targets {
			if _, known := j.index[target.Job]; !known {
				j.index[target.Job] = uint32(len(j.names))
				j.names = append(j.names, target.Job)
			}
		}
	}
	j.counts = make([]atomic.Uint32, len(j.names))
	return j
}
