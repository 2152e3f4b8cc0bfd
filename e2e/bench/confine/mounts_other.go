// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package confine

import (
	"errors"
	"os"
)

func cover([]string) error { return errors.ErrUnsupported }

func execute(*os.File, []string, []string) error { return errors.ErrUnsupported }
