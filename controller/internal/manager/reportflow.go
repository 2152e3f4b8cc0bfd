// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	configapi "github.com/milepost-dev/milepost/controller/api/config/v1alpha1"
	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/config"
	"github.com/milepost-dev/milepost/controller/internal/features"
	"github.com/milepost-dev/milepost/controller/internal/intake"
	"github.com/milepost-dev/milepost/controller/internal/latest"
	"github.com/milepost-dev/milepost/controller/internal/metrics"
	"github.com/milepost-dev/milepost/controller/internal/podidentity"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/reportrules"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
	"github.com/milepost-dev/milepost/controller/internal/trainjob"
)

// reportFlow runs the door and the writer on every replica, and stops them in the order that
// loses nothing: first the door, then the writer, which stores what the door let in.
type reportFlow struct {
	door   *intake.Server
	writer *statuswriter.Writer
}

var (
	_ manager.Runnable               = (*reportFlow)(nil)
	_ manager.LeaderElectionRunnable = (*reportFlow)(nil)
)

// NeedLeaderElection is false: every replica takes reports and stores them.
func (f *reportFlow) NeedLeaderElection() bool { return false }

// Start returns when ctx has ended, the door is closed and the writer is done.
func (f *reportFlow) Start(ctx context.Context) error {
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	written := make(chan error, 1)
	go func() { written <- f.writer.Start(writing) }()
	err := f.door.Start(ctx)
	stopWriting()
	if writeErr := <-written; err == nil {
		err = writeErr
	}
	return err
}

// reportFlowCache narrows the informers to what identities need, and leaves out of TrainJobs what
// nobody reads.
func reportFlowCache() (map[client.Object]cache.ByObject, error) {
	byObject, err := podidentity.CacheOptions()
	if err != nil {
		return nil, err
	}
	maps.Copy(byObject, map[client.Object]cache.ByObject{
		&trainer.TrainJob{}: {Transform: slimTrainJob},
	})
	return byObject, nil
}

// slimTrainJob leaves out what neither flow reads from the cache.
func slimTrainJob(object any) (any, error) {
	object, err := trainjob.SlimTrainJob(object)
	if err != nil {
		return nil, err
	}
	return statuswriter.KeepOwnManagedFields(object)
}

// addReportFlow builds the way of a report from its last stage to its first.
func (p *parts) addReportFlow(ctx context.Context) error {
	if !p.Gates.Enabled(features.TrainJobStatus) {
		return nil
	}
	counts, err := metrics.NewReports(ctrlmetrics.Registry)
	if err != nil {
		return err
	}
	kept, err := p.keepReports(ctx, counts)
	if err != nil {
		return err
	}
	identifier, err := p.identifier(ctx, kept.cluster)
	if err != nil {
		return err
	}
	p.door, err = intake.New(p.doorConfig(counts), identifier, reportrules.New(clock.RealClock{}), kept.store)
	if err != nil {
		return err
	}
	for _, part := range []manager.Runnable{identifier, &reportFlow{door: p.door, writer: kept.writer}} {
		if err := p.Add(part); err != nil {
			return fmt.Errorf("adding the report flow: %w", err)
		}
	}
	return nil
}

// kept is the half of the report flow behind the door.
type kept struct {
	cluster *statuswriter.Cluster
	store   *latest.Store
	writer  *statuswriter.Writer
}

// keepReports builds the store of newest reports and the writer that empties it.
func (p *parts) keepReports(ctx context.Context, counts *metrics.Reports) (*kept, error) {
	cluster, err := statuswriter.NewCluster(p.GetCache(), p.Cluster, p.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	budget, err := writeBudget(p.Config.StatusServer)
	if err != nil {
		return nil, err
	}
	store, err := latest.New(latest.Config{Observer: counts}, budget, cluster)
	if err != nil {
		return nil, err
	}
	if err := counts.WatchWaiting(ctrlmetrics.Registry, store); err != nil {
		return nil, err
	}
	if err := cluster.Watch(ctx, p.GetCache(), store.Forget); err != nil {
		return nil, err
	}
	logger := p.Log.WithName("status-writer")
	writer, err := statuswriter.New(statuswriter.Config{Logger: logger, Observer: counts}, budget, store, cluster)
	return &kept{cluster: cluster, store: store, writer: writer}, err
}

// writeBudget is what status writes may cost. 0 stands for the default, as it does for the
// clients of Kubeflow Trainer.
func writeBudget(server *configapi.StatusServer) (*statuswriter.Budget, error) {
	qps, burst := *server.QPS, *server.Burst
	if qps == 0 {
		qps = configapi.DefaultStatusServerQPS
	}
	if burst == 0 {
		burst = configapi.DefaultStatusServerBurst
	}
	budget, err := statuswriter.NewBudget(float64(qps), int(burst), clock.RealClock{})
	if err != nil {
		return nil, fmt.Errorf("setting the budget of status writes (statusServer.qps, statusServer.burst): %w", err)
	}
	return budget, nil
}

func (p *parts) identifier(ctx context.Context, jobs podidentity.Jobs) (*podidentity.Identifier, error) {
	if err := podidentity.Watch(ctx, p.GetCache()); err != nil {
		return nil, err
	}
	api, err := podidentity.NewCluster(p.Cluster, p.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return podidentity.New(podidentity.Config{Live: p.GetAPIReader(), Logger: p.Log.WithName("identity")}, p.GetCache(), jobs, api)
}

// lameDuck is how long new connections are taken after the end was announced: the time in which
// those that route to this replica learn that it leaves. With the waits for open requests and for
// the last writes it stays below the grace of 30 s that the manager and Kubernetes give.
const lameDuck = 3 * time.Second

func (p *parts) doorConfig(counts intake.Observer) intake.Config {
	serve := &tls.Config{GetCertificate: p.certificate.GetCertificate} //nolint:gosec // ApplyTLS sets the minimum
	config.ApplyTLS(serve, p.Config.TLS)
	return intake.Config{
		Address:         statusAddress(p.Config.StatusServer),
		TLS:             serve,
		ProbeServerName: reportlink.ServiceHost(p.Config.CertManagement.WebhookServiceName, p.namespace),
		LameDuck:        lameDuck,
		Logger:          p.Log.WithName("status-server"),
		Observer:        counts,
	}
}
