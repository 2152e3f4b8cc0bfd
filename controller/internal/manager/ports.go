// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/milepost-dev/milepost/controller/internal/features"
)

// noPort is how the configuration file switches a port off.
const noPort = "0"

// checkPorts fails with one line when a port that will be served is taken. It is asked first: the
// servers start in groups, of which the next waits for the API server, and what one of them says is
// heard when all have started.
func (o Options) checkPorts(ctx context.Context) error {
	for _, port := range o.ports() {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", port.address)
		if err != nil {
			return fmt.Errorf("serving %s: %w", port.field, err)
		}
		// Kept open until all are tried, so that two servers on one port are noticed.
		defer listener.Close()
	}
	return nil
}

// port is an address to listen on, with the field of the configuration file that says so.
type port struct{ field, address string }

func (o Options) ports() []port {
	hook := webhookOptions(o.Config.Webhook, nil)
	if hook.Port == 0 {
		hook.Port = webhook.DefaultPort
	}
	all := []port{
		{"health.healthProbeBindAddress", o.Config.Health.HealthProbeBindAddress},
		{"metrics.bindAddress", o.Config.Metrics.BindAddress},
		{"webhook.port", net.JoinHostPort(hook.Host, strconv.Itoa(hook.Port))},
	}
	if o.Gates.Enabled(features.TrainJobStatus) {
		all = append(all, port{"statusServer.port", statusAddress(o.Config.StatusServer)})
	}
	used := all[:0]
	for _, p := range all {
		if p.address != "" && p.address != noPort {
			used = append(used, p)
		}
	}
	return used
}
