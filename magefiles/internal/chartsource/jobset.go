// SPDX-License-Identifier: Apache-2.0

package chartsource

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// JobSetCRD is the path of JobSet's CRD below its module.
const JobSetCRD = "charts/jobset/crds/jobset.x-k8s.io_jobsets.yaml"

const (
	jobSetChart  = "charts/jobset"
	jobSetSecret = "templates/internalcert/secret.yaml"
)

// leftOut are the parts of JobSet's chart that are not copied. The CRD is a template of the parent chart, so that it is
// upgraded and removed with the release; the rest is needed by its developers only.
var leftOut = []string{"crds", "tests", "README.md.gotmpl"}

// emptyKeys stand in the Secret that JobSet's controller fills. Helm 4 would claim them on every upgrade and meet the
// controller's values; without them the Secret belongs to Helm and its keys to the controller.
const emptyKeys = "data:\n  ca.crt: \"\"\n  ca.key: \"\"\n  tls.crt: \"\"\n  tls.key: \"\"\n"

const vendoredNote = `# JobSet's chart

This folder is a copy of ` + "`charts/jobset`" + ` in the Go module sigs.k8s.io/jobset %s, under the Apache License 2.0, made by
` + "`go tool mage generate`" + ` so that the chart installs from a clone without a chart registry. Two things differ:

- The CRD is not here but among the templates of the parent chart, which upgrades and removes it with the release.
- The Secret of the webhook certificate has no empty keys, which Helm 4 would claim back from the controller on an upgrade.
`

// VendorJobSet replaces the target folder by a copy of the chart in JobSet's module.
func VendorJobSet(module, version, target string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	source := os.DirFS(filepath.Join(module, jobSetChart))
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
	if err == nil && name == jobSetSecret {
		text, err = withoutEmptyKeys(text)
	}
	if err != nil {
		return err
	}
	return write(filepath.Join(target, name), text)
}

// withoutEmptyKeys fails when JobSet changed the Secret, so that a new version is looked at.
func withoutEmptyKeys(text []byte) ([]byte, error) {
	before, after, found := bytes.Cut(text, []byte(emptyKeys))
	if !found {
		return nil, fmt.Errorf("%s does not hold the empty keys that are taken out", jobSetSecret)
	}
	return slices.Concat(before, after), nil
}

func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
