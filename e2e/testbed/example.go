// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/milepost-dev/milepost/e2e/examples"
	"github.com/milepost-dev/milepost/e2e/infra/images"
)

// exampleBases are what lies below the programs of each language; those that are missing are static.
var exampleBases = map[string]images.Base{
	"java": images.JavaBase, "shell": images.PythonBase, "typescript": images.NodeBase,
}

// ExampleImage names the image with the training program of a language.
func ExampleImage(language string) string {
	return "localhost/milepost/examples/reporter-" + language + ":dev"
}

// LoadExample builds the training program of a language that uses its reporter, and makes an image
// available to pods that starts it. Arguments of a container go to the program.
func (o Outside) LoadExample(ctx context.Context, language string) error {
	program, err := examples.Builder{Root: o.Root, Cache: o.Packages.Cache, Output: o.progress}.Build(ctx, language)
	if err != nil {
		return err
	}
	reference := ExampleImage(language)
	fmt.Fprintf(o.progress, "image %s\n", reference)
	archive, err := o.exampleImage(ctx, language, reference, program)
	if err != nil {
		return err
	}
	if err := o.cluster.LoadImage(ctx, archive); err != nil {
		return fmt.Errorf("loading image %s: %w", reference, err)
	}
	return nil
}

func (o Outside) exampleImage(ctx context.Context, language, reference string, program examples.Program) (string, error) {
	folders := []images.Folder{{Source: program.Dir, Target: "/app"}}
	if program.Bin != "" {
		folders = append(folders, images.Folder{Source: program.Bin, Target: "/usr/local/bin"})
	}
	if language == "python" {
		return o.store.Python(ctx, images.Python{
			Reference: reference, Folders: folders, Entrypoint: program.Command, Output: o.progress,
			Requirements: filepath.Join(o.Root, "docs", "examples", "python", "requirements.txt"),
		})
	}
	return o.store.Program(ctx, images.Program{
		Reference: reference, Base: exampleBases[language], Folders: folders, Entrypoint: program.Command, Output: o.progress,
	})
}
