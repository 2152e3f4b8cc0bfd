// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/bench/echo"
)

func newEchoCommand() *cobra.Command {
	var address, cert, key string
	command := &cobra.Command{
		Use:   "echo",
		Short: "Serve HTTPS and send every body back",
		Long: `Serve HTTPS and send every body back, until interrupted.

This is the yardstick of "bench status": the least a server in Go must do for a report.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				return fmt.Errorf("loading the certificate: %w", err)
			}
			listener, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", address)
			if err != nil {
				return fmt.Errorf("listening on %s: %w", address, err)
			}
			go func() {
				<-cmd.Context().Done()
				_ = listener.Close() // ends Serve
			}()
			err = echo.Serve(listener, pair)
			if cmd.Context().Err() != nil && (errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed)) {
				return nil
			}
			return err
		},
	}
	command.Flags().StringVar(&address, "address", "127.0.0.1:0", "host and port to listen on")
	command.Flags().StringVar(&cert, "cert", "", "file with the certificate in PEM")
	command.Flags().StringVar(&key, "key", "", "file with its private key in PEM")
	return command
}
