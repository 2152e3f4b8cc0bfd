// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"net/http"
	"testing"
	"time"

	"github.com/milepost-dev/milepost/controller/internal/testkit/rapidreset"
)

// TestRapidReset has a caller with a good token open streams and reset them
// while their handlers still run, as CVE-2023-44487 does.
func TestRapidReset(t *testing.T) {
	const streams = 20_000
	r := newRig(t, func(c *Config) { c.TLS.NextProtos = []string{protoHTTP2, protoHTTP1} })
	r.store.hold = make(chan struct{})
	door := r.server.door
	highest := watchInFlight(door)
	config := r.ca.ClientConfig()
	config.NextProtos = []string{protoHTTP2}
	conn := r.dial(config)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	a, err := rapidreset.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Attack(path, "good", streams)
	}()
	calm, err := a.Farewell()
	_ = conn.Close() // ends the attack where it still goes on
	<-ended
	if isTimeout(err) || !calm {
		t.Errorf("the server asks to calm down: %v, and the connection ends with %v; want it to ask and to end it", calm, err)
	}
	// Whoever reports is served meanwhile.
	wantCode(t, heard{code: r.do(r.request(http.MethodPost, path, goodBody)).code}, http.StatusOK)
	if most := highest(); most > maxStreams+1 || most < maxStreams/2 {
		t.Errorf("%d requests were answered at a time, want some and %d at most", most, maxStreams+1)
	}
	close(r.store.hold)
	waitFor(t, func() bool { return door.inFlight.Load() == 0 })
}

// watchInFlight returns a function that ends the watch and returns the highest
// number of requests at a time.
func watchInFlight(d *door) (end func() int64) {
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		highest := int64(0)
		for {
			highest = max(highest, d.inFlight.Load())
			select {
			case <-tick.C:
			case <-stop:
				most <- highest
				return
			}
		}
	}()
	return func() int64 { close(stop); return <-most }
}
