// SPDX-License-Identifier: Apache-2.0

// Package reportapi is the Go form of openapi/report/v1alpha1/openapi.yaml:
// types, strict net/http server, client and the document itself.
//
// It owns generated code only; intake serves it and hand-written conversions
// live there. Types never import the server, so a client needs neither the
// server nor the document.
//
// The request body is declared for any media type, because the Content-Type of
// a report is ignored: published clients send none, or a wrong one. The strict
// server therefore hands the body over unread, and that is wanted: its JSON
// decoder would throw a whole report away for one bad metric, knows no byte
// offsets and reads without a limit. Intake decodes the bytes itself. For the
// same kind of reason intake brings its own response types: a response may
// carry several Warning headers, and the generated ones hold one.
//
// `go tool mage generate` makes the files *.gen.go anew; each has its settings
// beside it.
package reportapi
