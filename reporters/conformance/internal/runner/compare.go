// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// bounds are limits that a number must keep, in seconds where it is a time.
type bounds struct {
	AtLeast float64 `json:"atLeast"`
	AtMost  float64 `json:"atMost"`
}

func (b bounds) check(what string, d time.Duration) error {
	return b.number(what, d.Seconds())
}

func (b bounds) number(what string, value float64) error {
	switch {
	case value < b.AtLeast:
		return fmt.Errorf("%s %.3f, want at least %.3f", what, value, b.AtLeast)
	case b.AtMost > 0 && value > b.AtMost:
		return fmt.Errorf("%s %.3f, want at most %.3f", what, value, b.AtMost)
	}
	return nil
}

// sameJSON compares values, not text. A missing value is null.
func sameJSON(a, b json.RawMessage) bool {
	var left, right any
	if len(a) > 0 && json.Unmarshal(a, &left) != nil || len(b) > 0 && json.Unmarshal(b, &right) != nil {
		return false
	}
	return reflect.DeepEqual(left, right)
}
