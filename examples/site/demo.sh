#!/usr/bin/env bash
# Shows how an XR becomes a finished Ansible run. The stack is up already.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
export KUBECONFIG="$root/.cache/kubeconfig" PATH="$root/bin:$root/.cache/bin:$PATH"
runs=ansibleruns.ansible.m.crossplane.io

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

say 'The platform team defines what a Site is, and how Ansible makes one.'
show kubectl apply -f 1-definition.yaml -f 2-composition.yaml -f 3-providerconfig.yaml
kubectl wait --for=condition=Established --timeout=60s -f 1-definition.yaml >/dev/null
if [[ -n ${NODE:-} ]]; then
  say 'Each run has a Pod of its own, which writes to a directory of the node.'
  install -d -m 1777 /tmp/crossplane-ansible
  show kubectl patch clusterproviderconfigs.ansible.m.crossplane.io default --type=merge --patch-file=pods.yaml
fi

say 'An application developer asks for a Site.'
show kubectl apply -f 4-site.yaml

say 'The function makes an AnsibleRun of it, and the provider carries that out.'
kubectl ansible status --namespace demo site hello --watch &
watcher=$!
trap 'kill "$watcher" 2>/dev/null || true' EXIT
if ! kubectl wait --namespace demo --for=condition=Ready --timeout=120s site/hello >/dev/null; then
  say 'The Site is not ready. This is what is known of it:'
  kubectl ansible why --namespace demo site hello
  kubectl describe --namespace demo site/hello "$runs"
  echo "Logs are in $root/.cache/logs"
  exit 1
fi
kill "$watcher" 2>/dev/null || true
wait

say 'The Site is ready, and knows where it is.'
show kubectl get --namespace demo site hello

say 'What Ansible did, and the page.'
show kubectl ansible status --namespace demo site hello
show cat "$(kubectl get --namespace demo site hello -o 'jsonpath={.status.location}')"

if [[ -n ${NODE:-} ]]; then
  say 'The Pod that did it. Its log has the play.'
  show kubectl get --namespace crossplane-system pods
fi

say 'What to try next'
cat <<EOF
  export KUBECONFIG=$KUBECONFIG PATH=$root/bin:$root/.cache/bin:\$PATH

  Change it, and look at the page again:
    kubectl patch --namespace demo site hello --type=merge -p '{"spec":{"title":"Hello again"}}'
  Break it, and read which task failed and why:
    kubectl patch --namespace demo site hello --type=merge -p '{"spec":{"title":""}}'
    kubectl ansible why --namespace demo site hello
  See what a run would change, without one:
    kubectl ansible check --namespace demo site hello
  Delete it, and see that Ansible cleans up first:
    kubectl delete --namespace demo site hello --cascade=foreground
    ls /tmp/crossplane-ansible/sites
  Stop everything:
    make down
EOF
