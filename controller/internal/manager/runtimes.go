// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/milepost-dev/milepost/controller/internal/builtinruntimes"
)

// addRuntimes installs the built-in runtimes where a folder of them was named.
func (p *parts) addRuntimes(context.Context) error {
	if p.Runtimes == "" {
		return nil
	}
	direct, err := client.New(p.Cluster, client.Options{Scheme: p.GetScheme(), HTTPClient: p.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("creating a client for runtimes: %w", err)
	}
	p.runtimes, err = builtinruntimes.New(p.Runtimes, direct, clock.RealClock{})
	if err != nil {
		return err
	}
	if err := p.Add(p.runtimes); err != nil {
		return fmt.Errorf("adding the installer of runtimes: %w", err)
	}
	return nil
}
