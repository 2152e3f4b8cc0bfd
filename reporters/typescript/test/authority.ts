// SPDX-License-Identifier: Apache-2.0
// Certificates for tests: one that signs itself, for localhost. Node reads certificates and cannot make them.

import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

/** A key and its certificate, in PEM. */
export interface Authority {
  readonly key: string;
  readonly cert: string;
}

const day = 24 * 60 * 60 * 1_000;

/** Makes a certificate that is its own authority, for localhost, 127.0.0.1 and ::1. */
export function newAuthority(): Authority {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const body = certificateBody(publicKey);
  const der = sequence(body, ecdsaWithSha256, bitString(sign("sha256", body, privateKey)));
  const lines = der.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function certificateBody(key: KeyObject): Buffer {
  const name = sequence(
    element(0x31, sequence(commonName, element(0x0c, Buffer.from(`test ${randomBytes(4).toString("hex")}`)))),
  );
  const extensions = sequence(
    sequence(
      basicConstraints,
      element(0x01, Buffer.from([0xff])),
      octetString(sequence(element(0x01, Buffer.from([0xff])))),
    ),
    sequence(
      alternativeNames,
      octetString(
        sequence(
          element(0x82, Buffer.from("localhost")),
          element(0x87, Buffer.from([127, 0, 0, 1])),
          element(0x87, Buffer.from([...Array<number>(15).fill(0), 1])),
        ),
      ),
    ),
  );
  return sequence(
    element(0xa0, integer(2)), // version 3
    element(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
    name,
    key.export({ type: "spki", format: "der" }),
    element(0xa3, extensions),
  );
}

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, ...parts);
}

function integer(value: number): Buffer {
  return element(0x02, Buffer.from([value]));
}

function octetString(content: Buffer): Buffer {
  return element(0x04, content);
}

function bitString(content: Buffer): Buffer {
  return element(0x03, Buffer.from([0]), content);
}

function identifier(...bytes: readonly number[]): Buffer {
  return element(0x06, Buffer.from(bytes));
}

function time(millis: number): Buffer {
  const text = new Date(millis).toISOString().replace(/[-:T]/g, "").slice(0, 14);
  return element(0x18, Buffer.from(`${text}Z`));
}

const ecdsaWithSha256 = sequence(identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const commonName = identifier(0x55, 0x04, 0x03);
const basicConstraints = identifier(0x55, 0x1d, 0x13);
const alternativeNames = identifier(0x55, 0x1d, 0x11);
