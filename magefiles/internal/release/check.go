// SPDX-License-Identifier: Apache-2.0

// Package release checks that the places which state a version state the same one.
//
// It does not release anything.
package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	chartFile       = "charts/milepost/Chart.yaml"
	changelogFile   = "CHANGELOG.md"
	contractFile    = "openapi/report/v1alpha1/openapi.yaml"
	contractHistory = "openapi/CHANGELOG.md"
)

var (
	version = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	heading = regexp.MustCompile(`(?m)^## (\S+)`)
)

// Check returns every disagreement between the chart, the changelogs and the report API in the
// tree at root. Tag is the tag of the present commit, empty when there is none.
func Check(root, tag string) error {
	chart, chartErr := chartVersion(root)
	if chartErr != nil {
		return chartErr
	}
	return errors.Join(
		checkTag(tag, chart),
		checkChangelog(root, tag, chart),
		checkContract(root),
	)
}

// chartVersion is the version of the chart, which is that of the whole release.
func chartVersion(root string) (string, error) {
	var chart struct {
		Version    string `yaml:"version"`
		AppVersion string `yaml:"appVersion"`
	}
	if err := readYAML(root, chartFile, &chart); err != nil {
		return "", err
	}
	switch {
	case !version.MatchString(chart.Version):
		return "", fmt.Errorf("%s: version %q is not of the form 1.2.3", chartFile, chart.Version)
	case strings.TrimPrefix(chart.AppVersion, "v") != chart.Version:
		return "", fmt.Errorf("%s: appVersion %q and version %q differ, but the chart installs the image of its own version",
			chartFile, chart.AppVersion, chart.Version)
	}
	return chart.Version, nil
}

func checkTag(tag, chart string) error {
	if tag == "" || tag == "v"+chart {
		return nil
	}
	return fmt.Errorf("the commit is tagged %s, but %s says %s", tag, chartFile, chart)
}

// checkChangelog wants a section for the version once it is tagged, and one for what comes next
// before that.
func checkChangelog(root, tag, chart string) error {
	text, err := os.ReadFile(filepath.Join(root, changelogFile))
	if err != nil {
		return err
	}
	want := "Unreleased"
	if tag != "" {
		want = chart
	}
	for _, found := range heading.FindAllStringSubmatch(string(text), -1) {
		if strings.Trim(found[1], "[]") == want {
			return nil
		}
	}
	return fmt.Errorf("%s: no section %q", changelogFile, "## "+want)
}

// checkContract wants every version of the report API explained; it has versions of its own.
func checkContract(root string) error {
	var document struct {
		Info struct {
			Version string `yaml:"version"`
		} `yaml:"info"`
	}
	if err := readYAML(root, contractFile, &document); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, contractHistory))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "## "+document.Info.Version) {
		return fmt.Errorf("%s: no section %q", contractHistory, "## "+document.Info.Version)
	}
	return nil
}

func readYAML(root, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}
