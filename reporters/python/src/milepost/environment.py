# SPDX-License-Identifier: Apache-2.0
"""What the environment of the process says: where reports go, and whether this process sends them.

Owns the names of variables. Does not own files that they name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional
from urllib.parse import urlsplit

URL = "KUBEFLOW_TRAINER_SERVER_URL"
CA_CERT = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
TOKEN = "KUBEFLOW_TRAINER_SERVER_TOKEN"  # noqa: S105  # the name of a variable that names a file

#: Used before a release. Seeing them alone means that the program expects too much.
OLD_NAMES = (
    "KUBEFLOW_TRAINER_STATUS_URL",
    "KUBEFLOW_TRAINER_STATUS_CA_CERT",
    "KUBEFLOW_TRAINER_STATUS_TOKEN",
)

NODE_RANK, LOCAL_RANK = "PET_NODE_RANK", "LOCAL_RANK"

#: Each names this process among all of a job, the most telling first. D2.
RANK_VARIABLES = (
    "RANK",
    NODE_RANK,
    "OMPI_COMM_WORLD_RANK",
    "JAX_PROCESS_ID",
    "SLURM_PROCID",
    "JOB_COMPLETION_INDEX",
)


@dataclass(frozen=True)
class Endpoint:
    """Where reports go, and the files that a request needs."""

    url: str
    host: str  # as in a certificate: a name or an address without brackets
    port: int
    authority: str  # as in the Host header
    target: str  # path and query
    ca_file: str
    token_file: str


def read(variables: Mapping[str, str]) -> tuple[Optional[Endpoint], str]:
    """Finds the endpoint, or says which variables are missing or unusable. D1."""
    values = {name: variables.get(name, "") for name in (URL, CA_CERT, TOKEN)}
    problems = [f"{name} is not set" for name, value in values.items() if not value]
    endpoint = _endpoint(values[URL], values[CA_CERT], values[TOKEN]) if values[URL] else None
    if values[URL] and endpoint is None:
        problems.append(f"{URL} is no https URL")
    if not any(values.values()):
        problems += [f"{name} is set but no longer read" for name in OLD_NAMES if variables.get(name)]
    return (None if problems else endpoint), ", ".join(problems)


def _endpoint(url: str, ca_file: str, token_file: str) -> Optional[Endpoint]:
    """Takes absolute https URLs apart, no others: a token does not travel in the clear."""
    if any(not "!" <= sign <= "~" for sign in url):
        return None  # what cannot stand in a request
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme != "https" or not parts.hostname:
        return None
    return Endpoint(
        url=url,
        host=parts.hostname,
        port=443 if port is None else port,
        authority=parts.netloc.rpartition("@")[2],
        target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        ca_file=ca_file,
        token_file=token_file,
    )


def other_rank(variables: Mapping[str, str], option: Optional[int] = None) -> str:
    """Says why another process reports. Empty when this one does. D2."""
    if option is not None:
        return f"the option says rank {option}" if option != 0 else ""
    for name in RANK_VARIABLES:
        rank = whole_number(variables.get(name, ""))
        if rank is None:
            continue
        if rank != "0":
            return f"{name} says rank {rank}"
        local = whole_number(variables.get(LOCAL_RANK, ""))
        if name == NODE_RANK and local not in (None, "0"):
            return f"{LOCAL_RANK} says rank {local} of the first node"
        return ""
    return ""


def whole_number(text: str) -> Optional[str]:
    """The digits of a whole number of any size, without leading zeros. None for anything else."""
    text = text.strip(" \t\r\n")
    if not (text.isascii() and text.isdigit()):
        return None
    return text.lstrip("0") or "0"
