// SPDX-License-Identifier: Apache-2.0

package testcount

import (
	"regexp"
	"strconv"
)

var (
	unittestRan    = regexp.MustCompile(`(?m)^Ran (\d+) tests? in `)
	unittestFailed = regexp.MustCompile(`(?m)^FAILED \((.*)\)$`)
	unittestOK     = regexp.MustCompile(`(?m)^OK \((.*)\)$`)
	unittestCount  = regexp.MustCompile(`(failures|errors|unexpected successes|skipped)=(\d+)`)
)

// Unittest counts what a run of Python's unittest said. A run that ended badly counts at least one
// failure, also when it never came to its tests.
func Unittest(said string, ok bool) (result Result) {
	total := 0
	if found := unittestRan.FindStringSubmatch(said); found != nil {
		total, _ = strconv.Atoi(found[1])
	}
	for _, verdict := range []*regexp.Regexp{unittestFailed, unittestOK} {
		for _, found := range unittestCount.FindAllStringSubmatch(verdict.FindString(said), -1) {
			number, _ := strconv.Atoi(found[2])
			if found[1] == "skipped" {
				result.Skipped += number
			} else {
				result.Failed += number
			}
		}
	}
	if !ok && result.Failed == 0 {
		result.Failed, total = 1, max(total, 1)
	}
	result.Passed = max(0, total-result.Failed-result.Skipped)
	return result
}
