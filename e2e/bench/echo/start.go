// SPDX-License-Identifier: Apache-2.0

package echo

import (
	"context"
	"time"

	"github.com/milepost-dev/milepost/e2e/bench/pki"
	"github.com/milepost-dev/milepost/e2e/bench/process"
	"github.com/milepost-dev/milepost/e2e/bench/subject"
)

// Start runs this program's command "echo" as a process of its own, with the same kind of
// certificate as the servers it is compared to.
func Start(ctx context.Context, program, dir string, authority *pki.Authority) (*subject.Server, error) {
	pair, err := authority.Server(subject.ServiceName)
	if err != nil {
		return nil, err
	}
	cert, key, err := pair.Write(dir, "echo")
	if err != nil {
		return nil, err
	}
	port, err := process.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	server := &subject.Server{Address: subject.LocalAddress(port), Name: subject.ServiceName, CA: authority.PEM()}
	server.Process, err = process.Start(ctx, process.Spec{
		Name: "echo", Path: program, LogDir: dir,
		Args: []string{"echo", "--address=" + server.Address, "--cert=" + cert, "--key=" + key},
	})
	if err != nil {
		return nil, err
	}
	return server, server.Process.WaitReady(ctx, time.Minute, server.Handshake)
}
