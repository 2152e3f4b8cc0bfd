// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"os"
	"path/filepath"
)

var javaRecipe = recipe{
	tool: []string{"mvn", "--batch-mode", "--version"},
	sources: []string{
		"docs/examples/java/perceptron/pom.xml", "docs/examples/java/perceptron/src",
		"reporters/java/pom.xml", "reporters/java/src/main", "reporters/java/src/generated",
	},
	command: []string{"java", "-jar", "perceptron.jar", digitsName},
	build:   buildJava,
}

// both builds reporter and program in one go: Maven then takes the reporter's jar from the first for
// the second, and leaves nothing in the user's repository.
const both = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.milepost.examples</groupId>
  <artifactId>both</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <modules><module>reporters/java</module><module>docs/examples/java/perceptron</module></modules>
</project>
`

func buildJava(ctx context.Context, _ Builder, copied, out string) error {
	if err := os.WriteFile(filepath.Join(copied, "pom.xml"), []byte(both), 0o600); err != nil {
		return err
	}
	err := run(ctx, step{dir: copied, command: []string{
		"mvn", "--quiet", "--batch-mode", "-Dmaven.test.skip", "-Dmaven.javadoc.skip", "-Dmaven.source.skip", "package",
	}})
	if err != nil {
		return err
	}
	for _, pattern := range []string{"reporters/java/target/reporter-*.jar", "docs/examples/java/perceptron/target/perceptron.jar"} {
		jar, err := only(filepath.Join(copied, pattern))
		if err != nil {
			return err
		}
		if err := copyAll(jar, filepath.Join(out, filepath.Base(jar))); err != nil {
			return err
		}
	}
	return nil
}
