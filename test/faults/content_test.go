package faults

// playbook reports the beginning of the play to the ledger, waits for the decision of the director, and reports the end.
const playbook = `- hosts: localhost
  gather_facts: false
  tasks:
  - name: Work
    ansible.builtin.shell:
      executable: /bin/bash
      cmd: |
        exec 3<>/dev/tcp/{{ ledger }}
        echo {{ ansible_provider_meta.managed_resource.uid }} {{ ansible_provider_meta.run.id }} \
          {{ ansible_provider_meta.run.mode }} {{ ansible_provider_meta.managed_resource.state }} {{ value }} >&3
        read -r fail differs <&3 || exit 3
        if [ $fail = true ]; then echo failed >&3; read -r noted <&3; exit 1; fi
        echo done >&3
        read -r noted <&3 || exit 3
        echo $differs
    check_mode: false
    register: work
    changed_when: work.stdout == 'true'
`
