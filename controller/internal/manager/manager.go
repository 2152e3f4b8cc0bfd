// SPDX-License-Identifier: Apache-2.0

// Package manager puts the parts of the controller together and runs them.
//
// It owns the order of the start and the stop, and who is given what. It alone may import every
// other package; it holds no rule of its own about TrainJobs or reports.
package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/admission"
	"github.com/milepost-dev/milepost/controller/internal/builtinruntimes"
	"github.com/milepost-dev/milepost/controller/internal/features"
	"github.com/milepost-dev/milepost/controller/internal/intake"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/servingcert"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

// Names of the webhook configurations, as Kubeflow Trainer has them.
const (
	validatingWebhook = "validator.trainer.kubeflow.org"
	mutatingWebhook   = "defaulter.trainer.kubeflow.org"
)

// defaultConcurrency is the number of TrainJobs worked on at a time where the file says nothing.
const defaultConcurrency = 5

// Options is what main has found out.
type Options struct {
	// Config has passed config.Load.
	Config *configapi.Configuration
	Gates  features.Gates
	// Cluster says how to reach the API server.
	Cluster *rest.Config
	Version string
	// Runtimes is a folder with built-in runtimes; empty leaves runtimes alone.
	Runtimes string
	Log      logr.Logger
}

// parts is what the steps of the start hand to each other.
type parts struct {
	Options
	ctrl.Manager
	namespace   string
	certificate *servingcert.Keeper
	// runtimes is nil without a folder of them.
	runtimes *builtinruntimes.Installer
	// door is nil without the gate TrainJobStatus.
	door *intake.Server
	// end ends the manager in good order, for a reason.
	end context.CancelCauseFunc
}

// Run starts everything and returns when ctx has ended and all is stopped, or with the reason why
// it could not start or had to end early.
func Run(ctx context.Context, opts Options) error {
	ctx, end := context.WithCancelCause(ctrl.LoggerInto(ctx, opts.Log))
	defer end(nil)
	if err := opts.checkPorts(ctx); err != nil {
		return err
	}
	applyClientConnection(opts.Cluster, opts.Config.ClientConnection)
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	if err := checkAPIs(ctx, opts.Cluster); err != nil {
		return err
	}
	p := &parts{Options: opts, namespace: ownNamespace(), end: end}
	opts.Log.Info("starting", "version", opts.Version, "namespace", p.namespace,
		string(features.TrainJobStatus), opts.Gates.Enabled(features.TrainJobStatus))
	if err := p.issueCertificate(ctx, scheme); err != nil {
		return err
	}
	if err := p.newManager(scheme); err != nil {
		return err
	}
	for _, add := range []func(context.Context) error{p.addCollector, p.addCertificate, p.addRuntimes, p.addJobFlow, p.addReportFlow, p.addProbes} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	return p.serve(ctx)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), trainer.AddToScheme(scheme), jobsetv1alpha2.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	return scheme, nil
}

// crdPatience is how long the CRDs may take: an installation brings them a moment before the manager,
// and the API server needs a few seconds to serve them.
const crdPatience = 15 * time.Second

// checkAPIs fails with one line when the API server cannot be reached or lacks the CRDs, where
// informers would wait without a word.
func checkAPIs(ctx context.Context, cluster *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(cluster)
	if err != nil {
		return fmt.Errorf("creating a discovery client: %w", err)
	}
	_ = wait.PollUntilContextTimeout(ctx, time.Second, crdPatience, true, func(context.Context) (bool, error) {
		err = trainjob.CheckAPIs(ctx, client)
		return err == nil, nil
	})
	return err
}

// issueCertificate makes sure that there is a certificate before anything is served: the webhook
// server and the status server start with it.
func (p *parts) issueCertificate(ctx context.Context, scheme *runtime.Scheme) error {
	direct, err := client.NewWithWatch(p.Cluster, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("creating a client for certificates: %w", err)
	}
	manage := p.Config.CertManagement
	p.certificate, err = servingcert.New(servingcert.Config{
		Secret:            p.certificateSecret(),
		Service:           manage.WebhookServiceName,
		ValidatingWebhook: validatingWebhook,
		MutatingWebhook:   mutatingWebhook,
		Manage:            *manage.Enable,
	}, direct)
	if err != nil {
		return err
	}
	return p.certificate.EnsureNow(ctx)
}

func (p *parts) certificateSecret() types.NamespacedName {
	return types.NamespacedName{Namespace: p.namespace, Name: p.Config.CertManagement.WebhookSecretName}
}

func (p *parts) newManager(scheme *runtime.Scheme) error {
	options := managerOptions(p.Config, p.namespace, p.certificate.GetCertificate)
	options.Scheme = scheme
	options.Logger = p.Log
	options.WebhookServer = heardWebhooks{Server: options.WebhookServer, end: p.end}
	err := patientElection(&options, p.Cluster, p.Log.WithName("election"), func() { p.end(errDeposed) })
	if err != nil {
		return err
	}
	byObject, err := p.cached()
	if err != nil {
		return err
	}
	options.Cache.ByObject = byObject
	mgr, err := ctrl.NewManager(p.Cluster, options)
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	p.Manager = mgr
	return nil
}

// cached narrows the informers to what the flows need.
func (p *parts) cached() (map[client.Object]cache.ByObject, error) {
	byObject := trainjob.CacheOptions(p.certificateSecret())
	if !p.Gates.Enabled(features.TrainJobStatus) {
		byObject[&trainer.TrainJob{}] = cache.ByObject{Transform: trainjob.SlimTrainJob}
		return byObject, nil
	}
	reports, err := reportFlowCache()
	if err != nil {
		return nil, err
	}
	maps.Copy(byObject, reports)
	return byObject, nil
}

func (p *parts) addCollector(context.Context) error {
	if err := p.Add(newCollector(clock.RealClock{})); err != nil {
		return fmt.Errorf("adding the adjustment of the garbage collector: %w", err)
	}
	return nil
}

func (p *parts) addCertificate(context.Context) error {
	if err := p.Add(p.certificate); err != nil {
		return fmt.Errorf("adding the certificate keeper: %w", err)
	}
	return nil
}

func (p *parts) addJobFlow(context.Context) error {
	concurrency := defaultConcurrency
	if c := p.Config.Controller; c != nil {
		if n := c.GroupKindConcurrency[trainer.TrainJobKind+"."+trainer.GroupVersion.Group]; n > 0 {
			concurrency = int(n)
		}
	}
	err := trainjob.SetupWithManager(p.Manager, trainjob.Config{
		ReportLink:              p.Gates.Enabled(features.TrainJobStatus),
		ServiceHost:             reportlink.ServiceHost(p.Config.CertManagement.WebhookServiceName, p.namespace),
		StatusPort:              *p.Config.StatusServer.Port,
		CertSecret:              p.certificateSecret(),
		MaxConcurrentReconciles: concurrency,
		Clock:                   clock.RealClock{},
	})
	if err != nil {
		return err
	}
	return admission.SetupWithManager(p.Manager)
}
