// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"fmt"
	"syscall"
)

// become turns this process into another program, which then gets the signals
// and whose end is the end of this one. It returns only on failure.
func (p *Program) become(path string, argv []string) error {
	return fmt.Errorf("starting %s: %w", path, syscall.Exec(path, argv, p.Environ))
}
