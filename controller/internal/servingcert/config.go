// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const day = 24 * time.Hour

// Defaults of Lifetimes and of the resync period.
const (
	DefaultCALifetime      = 10 * 365 * day
	DefaultCARenewBefore   = 2 * 365 * day
	DefaultLeafLifetime    = 365 * day
	DefaultLeafRenewBefore = 90 * day
	DefaultBackdate        = time.Hour
	DefaultResyncPeriod    = time.Minute
)

// Config says which certificate is kept, for whom, and for how long it lives.
type Config struct {
	// Secret holds the keys ca.crt, ca.key, tls.crt and tls.key, and bridge.crt while a CA is replaced.
	Secret types.NamespacedName
	// Service is the name of the Service, in the namespace of the Secret, which clients connect to.
	Service string
	// ClusterDomain is the DNS domain of the cluster, for the long form of the Service's name. Empty
	// leaves the long form out.
	ClusterDomain string
	// ValidatingWebhook and MutatingWebhook name the webhook configurations whose caBundle is kept
	// equal to ca.crt. Empty names none.
	ValidatingWebhook string
	MutatingWebhook   string
	// Manage is false when somebody else fills the Secret: then nothing is ever written.
	Manage bool
	// Lifetimes of what is issued; zero values take the defaults.
	Lifetimes Lifetimes
	// ResyncPeriod is how often the Secret is read again although no change was seen. Zero takes the
	// default.
	ResyncPeriod time.Duration
	// Clock tells the time; nil takes the real one.
	Clock clock.WithTicker
}

// Lifetimes says how long certificates live and when they are replaced.
type Lifetimes struct {
	CA time.Duration
	// CARenewBefore is how long before its end the CA gets a successor, and so how long both are
	// trusted: a client that read ca.crt just before the renewal and never reads it again works for
	// this long.
	CARenewBefore   time.Duration
	Leaf            time.Duration
	LeafRenewBefore time.Duration
	// Backdate is how far the start of a certificate lies in the past, for clients whose clock is slow.
	Backdate time.Duration
}

func (c Config) withDefaults() Config {
	c.Lifetimes = c.Lifetimes.withDefaults()
	if c.ResyncPeriod == 0 {
		c.ResyncPeriod = DefaultResyncPeriod
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}

func (l Lifetimes) withDefaults() Lifetimes {
	for field, value := range map[*time.Duration]time.Duration{
		&l.CA:              DefaultCALifetime,
		&l.CARenewBefore:   DefaultCARenewBefore,
		&l.Leaf:            DefaultLeafLifetime,
		&l.LeafRenewBefore: DefaultLeafRenewBefore,
		&l.Backdate:        DefaultBackdate,
	} {
		if *field == 0 {
			*field = value
		}
	}
	return l
}

// Validate returns every rule that the configuration breaks.
func (c Config) Validate() error {
	var problems []error
	if c.Secret.Name == "" || c.Secret.Namespace == "" {
		problems = append(problems, errors.New("the Secret needs a name and a namespace"))
	}
	if c.Service == "" {
		problems = append(problems, errors.New("the Service needs a name"))
	}
	if c.ResyncPeriod < 0 {
		problems = append(problems, fmt.Errorf("resync period %s is negative", c.ResyncPeriod))
	}
	return errors.Join(append(problems, c.Lifetimes.withDefaults().validate())...)
}

// validate keeps the three promises that the renewal rests on: a leaf never outlives the CA that
// signed it, no more than two CAs are alive at a time, and renewal comes before expiry.
func (l Lifetimes) validate() error {
	var problems []error
	for name, value := range map[string]time.Duration{
		"CA lifetime": l.CA, "CA renewal": l.CARenewBefore,
		"leaf lifetime": l.Leaf, "leaf renewal": l.LeafRenewBefore, "backdating": l.Backdate,
	} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("%s of %s is negative", name, value))
		}
	}
	if l.LeafRenewBefore >= l.Leaf {
		problems = append(problems, fmt.Errorf("a leaf of %s cannot be renewed %s before its end", l.Leaf, l.LeafRenewBefore))
	}
	if l.Leaf > l.CARenewBefore {
		problems = append(problems, fmt.Errorf("a leaf of %s can outlive a CA that is renewed %s before its end", l.Leaf, l.CARenewBefore))
	}
	if 2*l.CARenewBefore > l.CA {
		problems = append(problems, fmt.Errorf("a CA of %s that is renewed %s before its end meets its next but one", l.CA, l.CARenewBefore))
	}
	return errors.Join(problems...)
}

// dnsNames lists the names in the certificate; the first is the one clients are given.
func (c Config) dnsNames() []string {
	host := c.Service + "." + c.Secret.Namespace + ".svc"
	names := []string{host}
	if c.ClusterDomain != "" {
		names = append(names, host+"."+c.ClusterDomain)
	}
	return names
}
