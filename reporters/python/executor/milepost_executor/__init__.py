# SPDX-License-Identifier: Apache-2.0
"""Drives the reporter for the conformance runner. See reporters/conformance/PROTOCOL.md."""
