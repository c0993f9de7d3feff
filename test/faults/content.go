package main

// playbook is the work of a play: it reports its beginning to the ledger, waits until the director decides how it ends,
// and reports the end.
const playbook = `- hosts: localhost
  gather_facts: false
  tasks:
  - name: Work
    ansible.builtin.shell:
      executable: /bin/bash
      cmd: |
        exec 3<>/dev/tcp/{{ ledger }}
        printf 'begin %s %s %s %s %s %s %s\n' \
          {{ ansible_provider_meta.managed_resource.uid }} \
          {{ ansible_provider_meta.run.id }} {{ ansible_provider_meta.run.mode }} \
          {{ ansible_provider_meta.managed_resource.state }} \
          {{ ansible_provider_meta.managed_resource.generation }} {{ value }} $$ >&3
        read -r how what <&3 || exit 3
        if [ "$how" = fail ]; then echo failed >&3; read -r noted <&3; exit 1; fi
        echo done >&3
        read -r noted <&3 || exit 3
        echo "$what"
    check_mode: false
    register: work
    changed_when: work.stdout == 'differs'
`
