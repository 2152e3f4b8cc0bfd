// SPDX-License-Identifier: Apache-2.0

/** The version of this package, as it stands in the User-Agent header. */
export const version = "0.1.0";
