// SPDX-License-Identifier: Apache-2.0

package localrun

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/milepost-dev/milepost/controller/internal/intake"
	"github.com/milepost-dev/milepost/controller/internal/latest"
	"github.com/milepost-dev/milepost/controller/internal/localrun/localidentity"
	"github.com/milepost-dev/milepost/controller/internal/report"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/reportrules"
	"github.com/milepost-dev/milepost/controller/internal/servingcert/authority"
	"github.com/milepost-dev/milepost/controller/internal/statuswriter"
)

const (
	second = time.Second
	// The file takes few writes, so that a program that reports at every step
	// does not keep the disk busy.
	fileWritesPerSecond = 5
	fileWritesBurst     = 5
	// A program that sends its last report while it exits is still heard.
	lastCall = 50 * time.Millisecond
	drain    = 2 * time.Second
	// Nobody waits at a prompt for a file system that takes nothing.
	flush = 3 * time.Second

	certificateLife = 365 * 24 * time.Hour
	clockSlack      = time.Hour
)

// endpoint is the report endpoint of one run: the parts of the report flow, put
// together around the two ends that are different here.
type endpoint struct {
	url       string
	ca        []byte // PEM
	observer  *counter
	stopDoor  context.CancelFunc
	stopWrite context.CancelFunc
	door      chan error
	writer    chan error
}

// startEndpoint listens on a free port of the loopback interface.
func startEndpoint(job report.JobKey, identity *localidentity.Identity, target *record, onReport func(report.Report), c clock.Clock) (*endpoint, error) {
	certificate, ca, err := newCertificate(c.Now())
	if err != nil {
		return nil, err
	}
	identifier, err := identity.Identifier()
	if err != nil {
		return nil, fmt.Errorf("making the check of callers: %w", err)
	}
	budget, err := statuswriter.NewBudget(fileWritesPerSecond, fileWritesBurst, c)
	if err != nil {
		return nil, fmt.Errorf("making the budget of writes: %w", err)
	}
	store, err := latest.New(latest.Config{Clock: c}, budget, target)
	if err != nil {
		return nil, fmt.Errorf("making the report store: %w", err)
	}
	writer, err := statuswriter.New(statuswriter.Config{Workers: 1, FlushTimeout: flush, Clock: c}, budget, store, target)
	if err != nil {
		return nil, fmt.Errorf("making the status writer: %w", err)
	}
	listener, err := listenOnLoopback()
	if err != nil {
		return nil, err
	}
	e := &endpoint{ca: ca, observer: &counter{}, door: make(chan error, 1), writer: make(chan error, 1)}
	server, err := intake.New(intake.Config{
		Listener: listener, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		LameDuck: lastCall, DrainTimeout: drain, Clock: c, Observer: e.observer,
	}, identifier, reportrules.New(c), watched{Store: store, onReport: onReport})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the report endpoint: %w", err), listener.Close())
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(errors.New("listening for reports: not on TCP"), listener.Close())
	}
	e.url = reportlink.URL(address.IP.String(), int32(address.Port), job.Namespace, job.Name) //nolint:gosec // a port fits
	e.start(server, writer)
	return e, nil
}

func (e *endpoint) start(server *intake.Server, writer *statuswriter.Writer) {
	doorContext, stopDoor := context.WithCancel(context.Background())
	writeContext, stopWrite := context.WithCancel(context.Background())
	e.stopDoor, e.stopWrite = stopDoor, stopWrite
	go func() { e.door <- server.Start(doorContext) }()
	go func() { e.writer <- writer.Start(writeContext) }()
}

// stop closes the door, then has the rest written.
func (e *endpoint) stop() error {
	e.stopDoor()
	doorErr := <-e.door
	e.stopWrite()
	return errors.Join(doorErr, <-e.writer)
}

// listenOnLoopback takes IPv4 where there is any, because more clients know it.
func listenOnLoopback() (net.Listener, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		return listener, nil
	}
	listener, err6 := net.Listen("tcp", "[::1]:0")
	if err6 != nil {
		return nil, fmt.Errorf("listening for reports: %w", errors.Join(err, err6))
	}
	return listener, nil
}

// newCertificate makes a CA for this run alone and a certificate for every name
// of the loopback interface.
func newCertificate(now time.Time) (certificate tls.Certificate, ca []byte, err error) {
	from, until := now.Add(-clockSlack), now.Add(certificateLife)
	root, err := authority.New(authority.Name{CommonName: "milepost-run", Organization: "milepost"}, from, until)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the CA of the run: %w", err)
	}
	leaf, key, err := root.Issue(authority.Leaf{
		CommonName: "milepost-run", DNSNames: []string{"localhost"},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, NotBefore: from, NotAfter: until,
	})
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the certificate of the run: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, authority.EncodeCertificates(root.Certificate), nil
}

// watched passes accepted reports on to the view.
type watched struct {
	intake.Store
	onReport func(report.Report)
}

// Submit keeps the report and shows it.
func (w watched) Submit(ctx context.Context, from report.Sender, rep report.Report) (report.Outcome, error) {
	outcome, err := w.Store.Submit(ctx, from, rep)
	if err == nil && outcome != report.Superseded {
		w.onReport(rep)
	}
	return outcome, err
}

// counter counts the answers at the door by status code.
type counter struct {
	mu      sync.Mutex
	answers map[int]int
}

var _ intake.Observer = (*counter)(nil)

// Answered counts one answer.
func (c *counter) Answered(_ string, code int, _ float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = map[int]int{}
	}
	c.answers[code]++
}

// Refused is covered by Answered.
func (c *counter) Refused(string) {}

// Limited is covered by Answered.
func (c *counter) Limited(string) {}
