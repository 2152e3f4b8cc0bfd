# SPDX-License-Identifier: Apache-2.0
"""Integrations with training frameworks, one module each. None is imported before it is asked for."""
