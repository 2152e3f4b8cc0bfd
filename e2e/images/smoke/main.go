// SPDX-License-Identifier: Apache-2.0

// Command smoke is what the smoke test runs in pods: a tiny web server, and
// commands that look at the cluster from a pod's point of view.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const usage = "usage: smoke serve | get URL | resolve NAME | print FILE | say TEXT"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "smoke:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if len(arguments) == 1 && arguments[0] == "serve" {
		return serve(ctx)
	}
	if len(arguments) != 2 {
		return fmt.Errorf("%s", usage)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	switch verb, object := arguments[0], arguments[1]; verb {
	case "get":
		return get(ctx, object)
	case "resolve":
		addresses, err := net.DefaultResolver.LookupHost(ctx, object)
		fmt.Println(strings.Join(addresses, " "))
		return err
	case "print":
		content, err := os.ReadFile(object)
		fmt.Print(string(content))
		return err
	case "say":
		fmt.Println(object)
		return nil
	default:
		return fmt.Errorf("%s", usage)
	}
}

// serve answers every request with the address it came from.
func serve(ctx context.Context) error {
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "hello", r.RemoteAddr)
		}),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Println("serving")
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
