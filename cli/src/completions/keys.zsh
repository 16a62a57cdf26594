# For `policy set` and `policy shadow`: the keys of the config, as the component on the line names them.
_tidegate_keys() {
    local word component= command=
    for word in "${(@Q)words[2,CURRENT-1]}"; do
        case $command,$word in
        ,policy) command=policy ;;
        policy,set | policy,shadow) command=takes-config ;;
        takes-config,*.wasm) component=${component:-${word/#\~\//$HOME/}} ;;
        esac
    done
    if [[ -z $component || $PREFIX == -* ]]; then
        _tidegate "$@"
        return
    fi
    local -a keys=("${(@f)$("${(Q)words[1]}" policy config --names "$component" 2>/dev/null)}")
    compadd -S '' -- $keys
}

# Loaded by name or sourced: from now on these keys are part of it.
compdef _tidegate_keys tidegate
if [ "$funcstack[1]" = "_tidegate" ]; then
    _tidegate_keys "$@"
fi
