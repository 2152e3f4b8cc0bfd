// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// packages maps a program the cluster runs to the Debian package it is in.
var packages = map[string]string{
	"ip":      "iproute2",
	"nft":     "nftables",
	"mount":   "mount",
	"umount":  "mount",
	"nsenter": "util-linux",
	"unshare": "util-linux",
}

// ErrUnsupported says that this machine or user cannot run a node.
var ErrUnsupported = errors.New("a cluster of its own needs root on Linux")

// CheckMachine says in one line what is missing to run a cluster here.
func CheckMachine() error {
	return checkMachine(runtime.GOOS, os.Geteuid(), exec.LookPath)
}

func checkMachine(system string, user int, look func(string) (string, error)) error {
	const otherwise = "or point MILEPOST_E2E_KUBECONFIG at a cluster you have"
	if system != "linux" {
		return fmt.Errorf("%w, this is %s: use a Linux machine, %s", ErrUnsupported, system, otherwise)
	}
	if user != 0 {
		return fmt.Errorf("%w: run this again as root, for instance with sudo env \"PATH=$PATH\", %s", ErrUnsupported, otherwise)
	}
	var missing []string
	for program, name := range packages {
		if _, err := look(program); err != nil && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("programs are missing: apt-get install -y %s", strings.Join(missing, " "))
	}
	return nil
}
