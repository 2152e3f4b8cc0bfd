// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CacheVariable names the environment variable that moves the cache.
const CacheVariable = "MILEPOST_CACHE"

// CacheDir is where everything that is slow to make is kept: $MILEPOST_CACHE,
// else the folder milepost in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for a cache folder, set %s to choose one: %w", CacheVariable, err)
	}
	return filepath.Join(user, "milepost"), nil
}

var modulesPath = filepath.Join("e2e", "infra", "binaries", "modules")

// findModules looks for the pinned modules in start and its parents. They
// cannot be embedded: go:embed leaves out folders with a go.mod of their own.
func findModules(start string) (string, error) {
	for dir := start; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, modulesPath)
		_, err := os.Stat(candidate)
		if err == nil {
			return candidate, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for pinned modules: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s in %s or above it: run this inside the repository", modulesPath, start)
		}
	}
}

// binaryPath is where a finished binary lives.
func binaryPath(cache, name, version string) string {
	return filepath.Join(cache, "bin", name+"-"+version, name)
}
