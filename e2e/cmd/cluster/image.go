// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/milepost-dev/milepost/e2e/infra/binaries"
	"github.com/milepost-dev/milepost/e2e/infra/images"
)

const (
	controllerPackage    = "github.com/milepost-dev/milepost/controller/cmd/manager"
	controllerRepository = "localhost/milepost/trainer-controller-manager"
)

func newImageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Make container images without a container engine",
		Long: "Write an archive for `cluster load-image`, `docker load` or `ctr images import`, and print its path.\n" +
			"The same content gives the same bytes. Without --output the archive stays in the cache.",
	}
	command.AddCommand(newControllerImageCommand(), newGoImageCommand(), newPythonImageCommand())
	return command
}

func newControllerImageCommand() *cobra.Command {
	var tag, output string
	command := &cobra.Command{
		Use:   "controller",
		Short: "The image of the controller manager",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return deliver(cmd, output, func(store images.Store) (string, error) {
				return store.Go(cmd.Context(), images.Go{
					Package: controllerPackage, Reference: controllerRepository + ":" + tag,
					LinkerFlags: "-X main.version=" + tag, Output: cmd.ErrOrStderr(),
				})
			})
		},
	}
	command.Flags().StringVar(&tag, "tag", "dev", "tag of "+controllerRepository+", also the version the manager reports")
	addOutputFlag(command, &output)
	return command
}

func newGoImageCommand() *cobra.Command {
	var g images.Go
	var output string
	command := &cobra.Command{
		Use:     "go --package PACKAGE --name REFERENCE",
		Short:   "An image that holds one static Go program",
		Example: "  cluster image go --package ./docs/examples/go/digits --name localhost/milepost/digits:1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.Output = cmd.ErrOrStderr()
			return deliver(cmd, output, func(store images.Store) (string, error) { return store.Go(cmd.Context(), g) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&g.Package, "package", "", "main package, an import path or a folder")
	flags.StringVar(&g.Reference, "name", "", "reference of the image, such as localhost/milepost/digits:1")
	flags.StringVar(&g.LinkerFlags, "ldflags", "", "further flags for the linker")
	addOutputFlag(command, &output)
	require(command, "package", "name")
	return command
}

func newPythonImageCommand() *cobra.Command {
	var p images.Python
	var add []string
	var output string
	command := &cobra.Command{
		Use:     "python --name REFERENCE",
		Short:   "An image with Python, wheels and folders of code [root for the first]",
		Example: "  cluster image python --name localhost/milepost/train:1 --requirements requirements.txt --add ./code:/app",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folders, err := parseFolders(add)
			if err != nil {
				return err
			}
			p.Folders, p.Output = folders, cmd.ErrOrStderr()
			return deliver(cmd, output, func(store images.Store) (string, error) { return store.Python(cmd.Context(), p) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&p.Reference, "name", "", "reference of the image, such as localhost/milepost/train:1")
	flags.StringVar(&p.Requirements, "requirements", "", "file that lists wheels in pip's format")
	flags.StringArrayVar(&add, "add", nil, "FOLDER:/PATH adds a folder; the first is where programs start")
	addOutputFlag(command, &output)
	require(command, "name")
	return command
}

func addOutputFlag(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", "", "write the archive to this file")
}

func require(command *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := command.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag has just been defined
		}
	}
}

// parseFolders reads FOLDER:/PATH. The path is what follows the last colon.
func parseFolders(values []string) ([]images.Folder, error) {
	var folders []images.Folder
	for _, value := range values {
		i := strings.LastIndex(value, ":")
		if i <= 0 || !path.IsAbs(value[i+1:]) {
			return nil, fmt.Errorf("--add %q is not of the form FOLDER:/PATH", value)
		}
		folders = append(folders, images.Folder{Source: value[:i], Target: value[i+1:]})
	}
	return folders, nil
}

// deliver makes an image, copies its archive to output if that is named, and
// prints where it is.
func deliver(cmd *cobra.Command, output string, build func(images.Store) (string, error)) error {
	cache, err := binaries.CacheDir()
	if err != nil {
		return err
	}
	archive, err := build(images.NewStore(cache))
	if err != nil {
		return err
	}
	if output != "" {
		if err := copyFile(archive, output); err != nil {
			return fmt.Errorf("writing the image: %w", err)
		}
		archive = output
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), archive)
	return err
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }() // closing again below reports the error
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Close()
}
