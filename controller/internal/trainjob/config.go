// SPDX-License-Identifier: Apache-2.0

package trainjob

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/reporterwiring"
)

// Config is what the reconciler is told at the start. It does not change later.
type Config struct {
	// ReportLink wires training pods to the report endpoint: the feature gate
	// TrainJobStatus. Without it the next three fields are not used.
	ReportLink bool
	// ServiceHost is the DNS name of the Service in front of the status server,
	// as the serving certificate has it.
	ServiceHost string
	// StatusPort is the port of that Service, 1–65535.
	StatusPort int32
	// CertSecret holds the CA certificates in its key ca.crt.
	CertSecret types.NamespacedName
	// MaxConcurrentReconciles is how many TrainJobs are worked on at a time, at
	// least 1.
	MaxConcurrentReconciles int
	// Clock tells the time of conditions and deadlines.
	Clock clock.PassiveClock
}

// Validate joins all that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.MaxConcurrentReconciles < 1 {
		errs = append(errs, fmt.Errorf("the number of concurrent reconciles is %d, it must be at least 1", c.MaxConcurrentReconciles))
	}
	if c.Clock == nil {
		errs = append(errs, errors.New("the clock is missing"))
	}
	if c.ReportLink {
		errs = append(errs, c.endpoint().Validate())
		if c.CertSecret.Name == "" || c.CertSecret.Namespace == "" {
			errs = append(errs, errors.New("the Secret with the CA certificates has no name or no namespace"))
		}
	}
	return errors.Join(errs...)
}

func (c Config) endpoint() reporterwiring.Endpoint {
	return reporterwiring.Endpoint{Host: c.ServiceHost, Port: c.StatusPort}
}
