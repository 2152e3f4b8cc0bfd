// SPDX-License-Identifier: Apache-2.0

// Command codegen makes the wire types of the reporters from the OpenAPI document, and the tables
// of the vectors as JSON. It runs in the root of the repository. Arguments name languages, or
// vectors; none means all.
package main

import (
	"fmt"
	"os"

	"github.com/milepost-dev/milepost/reporters/conformance/internal/codegen"
)

func main() {
	if err := codegen.Generate(".", os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "codegen:", err)
		os.Exit(1)
	}
}
