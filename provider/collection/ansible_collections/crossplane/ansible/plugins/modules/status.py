# SPDX-License-Identifier: Apache-2.0

"""The documentation of the action plugin of the same name, which does the work."""

DOCUMENTATION = r"""
module: status
short_description: Report outputs and conditions to the AnsibleRun of the play
description:
  - Reports how far the content has come, and what it has made, to the AnsibleRun that the play belongs to.
  - The report is in the status of the object during the play, as soon as the provider writes it. The first
    report of a run is written at once, later ones in intervals.
  - The report travels in the event stream of the run. The module needs neither credentials nor access to the API server.
  - Outside of provider-ansible the module only checks its arguments.
version_added: 1.0.0
author:
  - The authors of provider-ansible
options:
  outputs:
    description:
      - Merged into RV(ignore:status.atProvider.outputs) by its keys. Later reports win, also over values that
        M(ansible.builtin.set_stats) publishes.
      - Keys must be names of variables, as for M(ansible.builtin.set_stats). Values must be valid in JSON; quote
        dates and times.
      - All outputs of a run together may take 64 KiB as JSON. A run that reports more fails in the end.
      - Outputs are public. Publish secrets with M(ansible.builtin.set_stats) under C(connection_details), which goes
        to the connection secret only.
      - Ignored when the object is being deleted.
    type: dict
  conditions:
    description:
      - Merged into RV(ignore:status.conditions) by their types. Later reports win.
      - A run may report 20 types. A run that reports more fails in the end.
      - Types that the last successful run did not report are removed.
    type: list
    elements: dict
    suboptions:
      type:
        description:
          - Type of the condition, in CamelCase, such as V(DatabaseReachable), or qualified by a DNS name, such
            as V(example.org/DatabaseReachable). At most 316 characters.
          - Types that Crossplane or the provider set themselves are refused, such as V(Ready) and V(Synced).
        type: str
        required: true
      status:
        description: Whether the condition holds.
        type: str
        choices: ['True', 'False', 'Unknown']
        required: true
      reason:
        description:
          - The reason in one word in CamelCase, such as V(ConnectionRefused), for programs. At most 1024 characters.
        type: str
        required: true
      message:
        description:
          - An explanation for people. At most 4096 bytes.
        type: str
        default: ''
attributes:
  check_mode:
    support: full
    description: The arguments are checked. Nothing is reported.
  diff_mode:
    support: none
    description: There is nothing to compare.
  async:
    support: none
    description: The module takes no time.
  action:
    support: full
    description: The module runs on the controller. The host needs neither a connection nor Python.
notes:
  - The module fails with C(no_log=true), which would hide the report.
seealso:
  - module: ansible.builtin.set_stats
"""

EXAMPLES = r"""
- name: Say where the site is while its content is still being copied
  crossplane.ansible.status:
    outputs:
      url: "https://{{ site_name }}.example.org"

- name: Report a condition
  crossplane.ansible.status:
    conditions:
      - type: DatabaseReachable
        status: "{{ ping is success }}"
        reason: "{{ 'Connected' if ping is success else 'ConnectionRefused' }}"
        message: "{{ ping.msg | default('') }}"

- name: Report what all hosts have in common once
  crossplane.ansible.status:
    outputs:
      members: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
reported:
  description: False in check mode.
  returned: success
  type: bool
  sample: true
outputs:
  description: The outputs that were reported.
  returned: success
  type: dict
  sample: {url: https://one.example.org}
conditions:
  description: The conditions that were reported.
  returned: success
  type: list
  elements: dict
  sample: [{type: DatabaseReachable, status: 'True', reason: Connected, message: ''}]
"""
