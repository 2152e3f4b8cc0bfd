// SPDX-License-Identifier: Apache-2.0

package apidoc_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/milepost-dev/milepost/magefiles/internal/apidoc"
)

const document = `
openapi: 3.0.3
info: {title: Toy API, version: 1.2.3, description: For tests.}
servers:
  - url: https://{host}
    description: The toy.
    variables: {host: {default: toy.test, description: Where it is.}}
paths:
  /toys/{name}:
    post:
      summary: Make a toy.
      description: Twice is once.
      requestBody:
        content:
          "*/*":
            examples: {red: {summary: A red one., externalValue: red.json}}
      responses:
        "200":
          description: Made | kept.
          headers: {Warning: {description: what was odd}}
        "404": {$ref: "#/components/responses/Gone"}
components:
  securitySchemes: {token: {description: Bring a token.}}
  responses:
    Gone: {description: No such toy.}
  schemas:
    Toy:
      description: A toy.
      required: [size]
      properties:
        size: {type: integer, format: int32, minimum: 1, maximum: 9, description: How big.}
        parts: {type: array, maxItems: 3, items: {$ref: "#/components/schemas/Part"}}
        lid: {$ref: "#/components/schemas/Part"}
    Part:
      properties:
        name: {type: string, minLength: 1, maxLength: 64}
`

func render(t *testing.T, document string, examples map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range examples {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "openapi.yaml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return apidoc.Page{Document: path, Source: "openapi/toy.yaml", Weight: 7}.Render()
}

func TestRender(t *testing.T) {
	page, err := render(t, document, map[string]string{"red.json": "{\"colour\": \"red\"}\n"})
	if err != nil {
		t.Fatalf("Render: %v", err)
	}
	for _, want := range []string{
		"---\n# Code generated from openapi/toy.yaml. DO NOT EDIT.\ntitle: Toy API\nweight: 7\n---\n",
		"- `host` is `toy.test` unless set otherwise. Where it is.\n",
		"Bring a token.\n",
		"## POST: Make a toy\n\n```text\nPOST /toys/{name}\n```\n\nTwice is once.\n",
		"A red one.\n\n```json\n{\"colour\": \"red\"}\n```\n",
		"| 200 | Made \\| kept. | `Warning` |\n| 404 | No such toy. |  |\n",
		"| `size` (required) | integer (int32), 1 to 9 | How big. |\n",
		"| `parts` | list of [Part](#part), at most 3 |  |\n",
		"| `lid` | [Part](#part) |  |\n",
		"| `name` | string, 1 to 64 characters |  |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q:\n%s", want, page)
		}
	}
}

func TestRenderRefusesWhatItCannotRead(t *testing.T) {
	cases := map[string]struct {
		document, wantErr string
	}{
		"an example that is not there": {document: document, wantErr: `reading the example "red.json"`},
		"a document that is no YAML":   {document: "a: [", wantErr: "reading "},
		"an empty document":            {document: "", wantErr: "it is empty"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, tc.document, nil)
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("Render = %v, want %q", err, tc.wantErr)
			}
		})
	}
}
