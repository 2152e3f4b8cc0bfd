// SPDX-License-Identifier: Apache-2.0

//go:build mage

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/milepost-dev/milepost/magefiles/internal/frameworks"
	"github.com/milepost-dev/milepost/magefiles/internal/run"
)

// huggingfacePython is the version of Python in the image that pods run, which the packages must be made for.
const huggingfacePython = "3.11"

// huggingfacePackages are the requirements that the suite tests, by the variables that tell it where they are.
var huggingfacePackages = map[string]string{
	"MILEPOST_E2E_TRANSFORMERS_NEWEST": "transformers-5.txt",
	"MILEPOST_E2E_TRANSFORMERS_OLDER":  "transformers-4.57.txt",
}

// Huggingface trains with Hugging Face Transformers in pods [root]. PyTorch from PyPI takes 7 GB, once.
func (E2e) Huggingface(ctx context.Context) error {
	if err := needCluster("e2e:huggingface"); err != nil {
		return err
	}
	store := frameworks.Store{Dir: filepath.Join(cacheDir(), "venvs"), Python: python()}
	for variable, file := range huggingfacePackages {
		folders, err := packageFolders(ctx, store, file)
		if err != nil {
			return err
		}
		if err := os.Setenv(variable, folders); err != nil {
			return err
		}
	}
	return runE2e(ctx, "e2e_huggingface", "./e2e/suites/huggingface")
}

// packageFolders makes an environment, into which nobody installs more, and lists where its packages are.
func packageFolders(ctx context.Context, store frameworks.Store, file string) (string, error) {
	name := "pods-" + strings.TrimSuffix(file, ".txt")
	interpreter, err := store.Above(ctx, filepath.Join(frameworksDir, "torch.txt"), name, filepath.Join(frameworksDir, file))
	if err != nil {
		return "", err
	}
	const ask = `import sys; print("%d.%d" % sys.version_info[:2]); print(*(p for p in sys.path if p.endswith("site-packages")), sep=":")`
	out, err := run.Cmd{}.Output(ctx, interpreter, "-c", ask)
	if err != nil {
		return "", err
	}
	version, folders, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if version != huggingfacePython {
		return "", fmt.Errorf("pods run Python %s, and %s is %s: name another one in MILEPOST_PYTHON", huggingfacePython, python(), version)
	}
	return folders, nil
}
