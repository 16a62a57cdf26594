
# For `policy set` and `policy shadow`: the keys of the config, as the component on the line names them.
function __fish_tidegate_component
    set -l command
    for word in (commandline -opc)[2..-1]
        switch "$command,$word"
            case ,policy
                set command policy
            case policy,set policy,shadow
                set command takes-config
            case 'takes-config,*.wasm'
                string replace -r '^~/' "$HOME/" -- $word
                return 0
        end
    end
    return 1
end

function __fish_tidegate_keys
    set -l words (commandline -opc)
    command $words[1] policy config --names (__fish_tidegate_component) 2>/dev/null
end

complete -c tidegate -n '__fish_tidegate_component >/dev/null' -f -a '(__fish_tidegate_keys)'
