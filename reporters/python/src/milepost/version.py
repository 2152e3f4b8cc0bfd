# SPDX-License-Identifier: Apache-2.0
"""The version of this package, as it stands in the User-Agent header."""

VERSION = "0.1.0"
