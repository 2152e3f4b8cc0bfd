// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
)

// FreePorts finds n ports of loopback that nobody listens on. They are all different; another
// program may still take one before it is used.
func FreePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { _ = listener.Close() }() // held until all are found, so that they differ
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// FreePort finds one such port.
func FreePort(ctx context.Context) (int, error) {
	ports, err := FreePorts(ctx, 1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// CheckHTTP returns nil when a GET of url is answered with 200.
func CheckHTTP(ctx context.Context, url string) error { return CheckWith(ctx, http.DefaultClient, url) }

// CheckWith is CheckHTTP with a client of one's own.
func CheckWith(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // not read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
