// SPDX-License-Identifier: Apache-2.0

// Package servingcert keeps the certificate that the webhook, status and metrics ports are served with.
//
// It owns the content of one Secret (a CA and a server certificate), the caBundle of the two webhook
// configurations, and the copy in memory that handshakes are answered from. Every replica runs it:
// whoever sees first that something is due writes it, guarded by the resource version, and all serve
// what is stored. It does not own the Secret object itself, which the chart creates and removes, nor
// the ConfigMaps that carry the CA to pods: the job flow writes those from the same Secret.
//
// While a CA is replaced, ca.crt holds the new and the old certificate, and the server presents the
// new CA's certificate signed by the old one behind its own. So a client that knows either of the two
// is served at any moment, and the key of the old CA is not needed any more.
package servingcert
