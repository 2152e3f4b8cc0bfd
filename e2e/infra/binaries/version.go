// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// requiredVersion reads the version of module from a go.mod. The pinned go.mod
// is the only place that states it, so that an upgrade is one `go get`.
func requiredVersion(gomod []byte, module string) (string, error) {
	file, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return "", fmt.Errorf("parsing go.mod: %w", err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}

func (b *Builder) version(program Program) (string, error) {
	path := filepath.Join(b.modules, program.Folder, "go.mod")
	gomod, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading pinned module: %w", err)
	}
	version, err := requiredVersion(gomod, program.Module)
	if err != nil {
		return "", fmt.Errorf("looking for the version in %s: %w", path, err)
	}
	return version, nil
}

// linkerFlags strips symbols and stamps the version.
func linkerFlags(program Program, version string) string {
	flags := []string{"-s", "-w"}
	for _, variable := range program.VersionVars {
		flags = append(flags, "-X", variable.Name+"="+versionPart(version, variable.Part))
	}
	return strings.Join(flags, " ")
}

func versionPart(version string, part VersionPart) string {
	major := strings.TrimPrefix(semver.Major(version), "v")
	switch part {
	case Major:
		return major
	case Minor:
		return strings.TrimPrefix(semver.MajorMinor(version), "v"+major+".")
	default:
		return version
	}
}
