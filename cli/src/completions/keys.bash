
# For `policy set` and `policy shadow`: the keys of the config, as the component on the line names them.
_tidegate_keys() {
    _tidegate "$@"
    local word component= command= cur=${COMP_WORDS[COMP_CWORD]}
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $command,$word in
        ,policy) command=policy ;;
        policy,set | policy,shadow) command=takes-config ;;
        takes-config,*.wasm) component=${component:-${word/#\~\//$HOME/}} ;;
        esac
    done
    [[ $component && $cur != -* ]] || return 0
    # What comes behind `KEY=` is nothing to complete.
    if [[ $cur == "=" || ${COMP_WORDS[COMP_CWORD - 1]} == "=" ]]; then
        COMPREPLY=()
        return 0
    fi
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" policy config --names "$component" 2>/dev/null)" -- "$cur"))
    compopt -o nospace 2>/dev/null
    return 0
}
complete -F _tidegate_keys -o nosort -o bashdefault -o default tidegate
