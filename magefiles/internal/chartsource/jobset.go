// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// JobSetCRD is the path of JobSet's CRD below its module.
const JobSetCRD = "charts/jobset/crds/jobset.x-k8s.io_jobsets.yaml"

const jobSetChart = "charts/jobset"

// leftOut are the parts of JobSet's chart that are not copied. The CRD and the Secret are templates of the parent chart; the
// rest is needed by JobSet's developers only.
var leftOut = []string{"crds", "templates/internalcert", "tests", "README.md.gotmpl"}

const vendoredNote = `# JobSet's chart

This folder is a copy of ` + "`charts/jobset`" + ` in the Go module sigs.k8s.io/jobset %s, under the Apache License 2.0, made by
` + "`go tool mage generate`" + ` so that the chart installs from a clone without a chart registry. Two things are not here but among
the templates of the parent chart:

- The CRD, so that it is upgraded and removed with the release.
- The Secret of the webhook certificate. As part of a release it has empty keys, which Helm 4 claims back from the controller on
  every upgrade.
`

// VendorJobSet replaces the target folder by a copy of the chart in JobSet's module. It fails when a part that should be left
// out is not there: then JobSet has changed, and somebody has to look.
func VendorJobSet(module, version, target string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	source := os.DirFS(filepath.Join(module, jobSetChart))
	for _, name := range leftOut {
		if _, err := fs.Stat(source, name); err != nil {
			return fmt.Errorf("looking for what is left out of JobSet's chart: %w", err)
		}
	}
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(leftOut, name):
			return fs.SkipDir
		case entry.IsDir() || slices.Contains(leftOut, name):
			return nil
		}
		return copyFile(source, name, target)
	})
	if err != nil {
		return fmt.Errorf("copying JobSet's chart: %w", err)
	}
	if err := copyFile(os.DirFS(module), "LICENSE", target); err != nil {
		return err
	}
	return write(filepath.Join(target, "VENDORED.md"), fmt.Appendf(nil, vendoredNote, version))
}

func copyFile(source fs.FS, name, target string) error {
	text, err := fs.ReadFile(source, name)
	if err != nil {
		return err
	}
	return write(filepath.Join(target, name), text)
}

func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
