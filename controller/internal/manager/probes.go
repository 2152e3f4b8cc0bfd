// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// addProbes makes a replica ready only when everything that pods and the API server call can
// answer: certificates, webhooks and the status endpoint, each tried by a handshake with the port
// itself. A status endpoint that has died fails the liveness probe.
func (p *parts) addProbes(context.Context) error {
	ready := map[string]healthz.Checker{
		"certificate": p.certificate.Ready,
		"webhook":     p.GetWebhookServer().StartedChecker(),
	}
	live := map[string]healthz.Checker{"ping": healthz.Ping}
	if p.runtimes != nil {
		ready["runtimes"] = p.runtimes.Ready
	}
	if p.door != nil {
		ready["status-server"] = p.door.ReadyCheck
		live["status-server"] = p.door.LiveCheck
	}
	var errs []error
	for name, check := range ready {
		errs = append(errs, p.AddReadyzCheck(name, named(name, check)))
	}
	for name, check := range live {
		errs = append(errs, p.AddHealthzCheck(name, named(name, check)))
	}
	return errors.Join(errs...)
}

// named says in the log which check failed: the probe's answer holds no more than that one did.
func named(name string, check healthz.Checker) healthz.Checker {
	return func(r *http.Request) error {
		if err := check(r); err != nil {
			return fmt.Errorf("checking %s: %w", name, err)
		}
		return nil
	}
}
